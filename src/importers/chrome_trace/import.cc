#include "importers/chrome_trace/import.h"

#include "importers/chrome_trace/xla.h"
#include "importers/common/file_stamp.h"
#include "importers/trace_events/base_time.h"
#include "importers/trace_events/finish.h"
#include "importers/trace_events/head.h"
#include "importers/trace_events/stage.h"

namespace sonde::importers {

bool HoldsChromeTrace(const std::string& path) {
  return trace_events::ReadTraceHead(path).is_trace;
}

bool IsChromeTrace(const std::string& path) {
  return trace_events::HasTraceName(path) && HoldsChromeTrace(path);
}

Result<int32_t> ChromeTraceRank(const std::string& /*path*/) { return store::kNone; }

Result<int64_t> ChromeTraceStamp(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const uint64_t stamp, FileStamp(path));
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportChromeTrace(const std::string& path, store::Store& store,
                                        const ImportOptions& options) {
  const chrome_trace::ChromeDialect dialect;
  trace_events::EventStage stage(store, dialect, options);
  SONDE_RETURN_IF_ERROR(stage.Read(path));
  SONDE_RETURN_IF_ERROR(stage.Arrange(trace_events::TakeBaseTime(stage)));
  const auto more = [&stage](store::Transaction& transaction, ImportSummary& summary) {
    return chrome_trace::WriteXlaDevices(stage, transaction, summary);
  };
  return trace_events::Finish(stage, store, options, {.more = more});
}

}  // namespace sonde::importers
