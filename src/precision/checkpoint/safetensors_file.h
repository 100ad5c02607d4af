// Hugging Face's safetensors: eight bytes with the length of a JSON header, the header, the values.
//
// A tensor that cannot be offered (element types of less than a byte, a place outside the file or
// of another size) is named and left out, and so are values that no tensor has. Errors:
// kCorruptData for a broken header. Pure; `bytes` must outlive the tensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/checkpoint/named_tensor.h"

namespace sonde::precision {

// By its first bytes.
bool IsSafetensors(std::span<const std::byte> bytes);

Result<std::vector<NamedTensor>> ParseSafetensors(std::span<const std::byte> bytes,
                                                  std::vector<std::string>* left_out);

}  // namespace sonde::precision
