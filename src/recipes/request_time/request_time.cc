#include "recipes/request_time/request_time.h"

#include <string>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

constexpr Needs kRequestTimeNeeds =
    Reads<store::RequestRow, store::EngineStepRow, store::RequestStepRow, store::CommunicationOpRow,
          store::FlowRow, store::StepRow, store::SliceRow, store::CounterRow>();

std::string JsonList(const std::vector<std::string>& words) {
  base::JsonWriter json(nullptr);
  json.BeginArray();
  for (size_t i = 1; i < words.size(); ++i) json.String(words[i]);
  json.EndArray();
  return json.Take();
}

void WriteTime(const RequestTime& time, store::RowSink& rows) {
  const std::vector<std::string> words = ReasonParts(time);
  const std::string arguments = JsonList(words);
  const std::string reason = ReasonOf(time);
  const std::string reason_zh = ReasonOf(time, Language::kChinese);
  RequestTimeRow row;
  row.request_id = time.row->request_id;
  row.name = time.name;
  row.is_slow = time.is_slow ? 1 : 0;
  if (!time.reasons.empty()) {
    row.why = KeyOfPart(time.reasons[0].part);
    row.why_excess_ns = time.reasons[0].excess_ns;
  }
  if (time.reasons.size() > 1) row.why_next = KeyOfPart(time.reasons[1].part);
  row.text_key = words[0];
  row.arguments = arguments;
  row.reason = reason;
  row.reason_zh = reason_zh;
  row.client_ns = time.client_ns;
  row.usual_ns = time.usual_ns;
  row.ttft_ns = time.ttft_ns;
  row.longest_pause_ns = time.pause_ns;
#define SONDE_REQUEST_PART(part, key, meaning) \
  row.key##_ns = time.whole.parts[RequestPart::k##part];
  SONDE_REQUEST_PARTS(SONDE_REQUEST_PART)
#undef SONDE_REQUEST_PART
  row.Write(rows);
}

void RunRequestTime(const DeviceView& view, store::RowSink& rows) {
  if (view.data->tables == nullptr) return;
  const RequestTimes times = ExplainRequests(*view.data->tables);
  for (const RequestTime& time : times.requests) WriteTime(time, rows);
}

void RunRequestPath(const DeviceView& view, store::RowSink& rows) {
  if (view.data->tables == nullptr) return;
  const ServedSession session = ServedSession::Of(*view.data->tables);
  for (const store::RequestRow& row : view.data->tables->Rows<store::RequestRow>()) {
    if (row.is_whole == 0) continue;
    for (const PathPiece& piece : PathOf(session, row)) {
      const std::string key = base::Concat("request_part.", KeyOfPart(piece.part));
      const std::string label = FilledText(key, {}, Language::kEnglish);
      const std::string label_zh = FilledText(key, {}, Language::kChinese);
      RequestPathRow{row.request_id, KeyOfPart(piece.part), label,
                     label_zh,       piece.begin_ns,        piece.end_ns - piece.begin_ns}
          .Write(rows);
    }
  }
}

void RunLoopPause(const DeviceView& view, store::RowSink& rows) {
  if (view.data->tables == nullptr) return;
  for (const LoopPause& pause : LoopPauses(*view.data->tables)) {
    LoopPauseRow{pause.start_ns, pause.Length(), pause.processor_ns, pause.processor_wait_ns,
                 pause.major_faults}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kRequestTimeRecipe;
constexpr Recipe kRequestTimeRecipe = {&kRequestTime, kRequestTimeNeeds, &RunRequestTime};
extern const Recipe kRequestPathRecipe;
constexpr Recipe kRequestPathRecipe = {&kRequestPath, kRequestTimeNeeds, &RunRequestPath};
extern const Recipe kLoopPauseRecipe;
constexpr Recipe kLoopPauseRecipe = {&kLoopPause, Reads<store::CounterRow>(), &RunLoopPause};

}  // namespace sonde::recipes
