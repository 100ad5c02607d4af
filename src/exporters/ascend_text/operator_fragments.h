// Ready pieces of JSON text for the events of operators: one copy an event instead of escaping
// names and joining shapes again and again.
//
// Threads: read-only after construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/format/framework_rows.h"
#include "recipes/trace/trace_data.h"

namespace sonde::exporters {

class OperatorFragments {
 public:
  OperatorFragments(const recipes::TraceData& data, const FrameworkRows& rows);

  // ,{"ph":"X","name":"aten::add"
  std::string_view Begin(int32_t name) const { return begin_[Index(name)]; }
  // ,"pid":12,"tid":13,"ts":"     of a track
  std::string_view Row(int32_t track) const { return row_[static_cast<size_t>(track)]; }
  // ,"Input Dims":"...","Input type":"..."     "" for store::kNone
  std::string_view Signature(int32_t id) const { return signature_[Index(id)]; }
  // ,"Call stack":"..."
  std::string_view Stack(int32_t id) const { return stack_[Index(id)]; }
  // ,"Module Hierarchy":"..."
  std::string_view Module(int32_t name) const { return module_[Index(name)]; }

 private:
  // store::kNone has the first place.
  static size_t Index(int32_t id) { return static_cast<size_t>(int64_t{id} + 1); }

  std::vector<std::string> begin_;
  std::vector<std::string> row_;
  std::vector<std::string> signature_;
  std::vector<std::string> stack_;
  std::vector<std::string> module_;
};

// "a;b" -> "a;\r\nb": how the ecosystem breaks lists over lines.
std::string BreakLines(std::string_view list);

// The frames of a stack, innermost first, broken over lines.
std::string StackText(const recipes::TraceData& data, size_t stack);

}  // namespace sonde::exporters
