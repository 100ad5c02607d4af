// communication.json and communication_matrix.json; "" where there is no communication.
//
// Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "recipes/communication/communication.h"

namespace sonde::exporters {

std::string CommunicationJson(const recipes::DeviceView& view,
                              const std::vector<recipes::CommunicationStep>& steps);
std::string CommunicationMatrixJson(const recipes::DeviceView& view,
                                    const std::vector<recipes::CommunicationStep>& steps);

}  // namespace sonde::exporters
