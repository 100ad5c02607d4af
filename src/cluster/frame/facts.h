// Facts of a trace that several modes take from it in one way. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fixed.h"
#include "base/status.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/work_kinds.h"

namespace sonde::cluster {

// What a rank must hold for a mode, and the switch that records it.
inline constexpr std::string_view kWantsCommunication =
    "communication operations (a program with several ranks, recorded with the device or, on a "
    "CPU, with --profile-with-cpu)";
inline constexpr std::string_view kWantsKernels =
    "kernels (recorded with the device or, on a CPU, with --profile-with-cpu)";
inline constexpr std::string_view kWantsApi =
    "calls of the device's host interface (--profile-level level1; Ascend alone has them)";

// "hcom_allReduce_": of the name where that is the vendor's, else of the kind; "N/A" where the
// vendor gives that. `index`: of data().communications.
std::string CommunicationTypeOf(const recipes::DeviceView& view, size_t index);

// The same of the name, where the vendor says "N/A", too.
using recipes::NamedCommunicationType;

// The last three digits of the hash of a communicator, as names of operations have them. Where
// only the hash is known it stands for the name.
std::string GroupDigits(std::string_view communicator);

using recipes::IsComputing;
using recipes::IsCopy;
using recipes::IsSendOrReceive;

// As the vendor's tables write shapes: in quotes; "N/A" where they are unknown.
std::string QuotedShapes(const recipes::TraceData& data, int32_t shapes);

using base::Fixed;

// "0,1,2", of many the first ten and how many they are.
std::string Listed(const std::vector<int32_t>& numbers);

// The error of a rank that has other steps than the one that was asked for.
Status NoSuchStep(int64_t step_id, const std::vector<int32_t>& steps);

}  // namespace sonde::cluster
