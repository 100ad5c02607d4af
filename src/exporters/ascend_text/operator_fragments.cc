#include "exporters/ascend_text/operator_fragments.h"

#include "base/host/json_writer.h"
#include "base/strings.h"

namespace sonde::exporters {

std::string BreakLines(std::string_view list) { return base::ReplaceAll(list, ";", ";\r\n"); }

std::string StackText(const recipes::TraceData& data, size_t stack) {
  std::string text;
  for (size_t i = data.stack_begin[stack]; i < data.stack_begin[stack + 1]; ++i) {
    if (!text.empty()) text += ";\r\n";
    text += data.Name(data.frames[i].frame);
  }
  return text;
}

OperatorFragments::OperatorFragments(const recipes::TraceData& data, const FrameworkRows& rows) {
  // Names are many (frames, shapes); only those that operators use are needed.
  begin_.resize(data.names.size() + 1);
  begin_[0] = R"(,{"ph":"X","name":"")";
  module_.resize(data.names.size() + 1);
  const auto need = [&](int32_t slice_id) {
    const int32_t name = data.Slice(slice_id).name;
    if (std::string& begin = begin_[Index(name)]; begin.empty()) {
      begin = base::Concat(R"(,{"ph":"X","name":)", base::JsonQuote(data.Name(name)));
    }
  };
  for (const int32_t slice :
       data.SlicesOfKinds({recipes::TrackKind::kCollectiveWork, recipes::TrackKind::kThread})) {
    if (data.OpOf(slice) < 0) need(slice);
  }
  for (const store::FrameworkOpRow& op : data.ops) {
    need(op.slice_id);
    if (op.module < 0) continue;
    if (std::string& module = module_[Index(op.module)]; module.empty()) {
      module = base::Concat(R"(,"Module Hierarchy":)", base::JsonQuote(data.Name(op.module)));
    }
  }
  for (const store::TrackRow& track : data.tracks) {
    row_.push_back(base::Concat(R"(,"pid":)", std::to_string(data.PidOf(track.process_id)),
                                R"(,"tid":)", std::to_string(rows.OfTrack(track.track_id)),
                                R"(,"ts":")"));
  }
  signature_.emplace_back();
  for (const store::OpSignatureRow& signature : data.signatures) {
    signature_.push_back(base::Concat(
        R"(,"Input Dims":)", base::JsonQuote(BreakLines(data.Name(signature.input_shapes))),
        R"(,"Input type":)", base::JsonQuote(BreakLines(data.Name(signature.input_types)))));
  }
  stack_.emplace_back();
  for (size_t stack = 0; stack + 1 < data.stack_begin.size(); ++stack) {
    const std::string text = StackText(data, stack);
    stack_.push_back(text.empty() ? "" : base::Concat(R"(,"Call stack":)", base::JsonQuote(text)));
  }
}

}  // namespace sonde::exporters
