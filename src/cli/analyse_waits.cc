#include "cli/analyse_waits.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "exporters/registry.h"
#include "recipes/communication/communication.h"
#include "recipes/communication/host_clocks.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/trace_data.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr recipes::Needs kNeeds =
    recipes::Reads<store::CommunicationOpRow, store::CommunicationTransitRow,
                   store::CommunicationGroupRow, store::StepRow, store::SliceRow,
                   store::FrameworkOpRow, store::DeviceTaskRow>()
        .WithDeviceTimes()
        .WithOrder();

// Writes the parts of the deliverables with waits again.
Status RewriteWaits(const AnalysedRank& rank, int threads) {
  SONDE_ASSIGN_OR_RETURN(const auto store,
                         store::Store::OpenReadOnly(rank.store_path, {.threads = threads}));
  SONDE_ASSIGN_OR_RETURN(const recipes::TraceData data,
                         recipes::TraceData::Load(*store, threads, kNeeds));
  recipes::DeviceView view = recipes::DeviceView::Make(data);
  if (data.communications.size() != rank.waits.waits_ns.size()) {
    return base::CorruptDataError("the store has changed since it was analysed");
  }
  view.waits_ns = rank.waits.waits_ns;
  const exporters::ExportContext context{.view = view,
                                         .span_folder = rank.folder,
                                         .output_folder = rank.output_folder,
                                         .span_name = rank.span_name,
                                         .threads = threads};
  for (const std::string& type : rank.types) {
    const exporters::Exporter* exporter = exporters::FindExporter(type);
    if (exporter->write_waits == nullptr) continue;
    SONDE_RETURN_IF_ERROR(exporter->write_waits(context));
  }
  return {};
}

std::string MsText(int64_t ns) {
  const int64_t tenths = (ns + 50'000) / 100'000;
  return Concat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10));
}

}  // namespace

std::vector<std::string> FindWaits(std::span<AnalysedRank> ranks, int threads, bool keeps_clocks) {
  std::vector<recipes::RankArrivals> arrivals;
  for (const AnalysedRank& rank : ranks) {
    arrivals.push_back(rank.arrivals);
    arrivals.back().run = rank.run;
  }
  std::vector<std::string> lines;
  if (!keeps_clocks) lines = recipes::CorrectClocks(arrivals);
  for (std::string& line : lines) line += "; --keep-clocks keeps the clocks";
  std::vector<recipes::RankWaits> waits = recipes::WaitsOf(arrivals);
  for (size_t i = 0; i < ranks.size(); ++i) {
    AnalysedRank& rank = ranks[i];
    rank.waits = std::move(waits[i]);
    if (rank.waits.matched == 0 || rank.output_folder.empty()) continue;
    const Status written = RewriteWaits(rank, threads);
    if (!written.ok()) {
      rank.notices.push_back(Concat(
          rank.output_folder, ": waits of collectives are not in the files: ", written.message()));
    }
  }
  return lines;
}

std::string RenderWaits(std::span<const AnalysedRank> ranks,
                        std::span<const std::string> rank_names) {
  std::vector<std::string> known;
  std::vector<std::string> alone;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const recipes::RankWaits& waits = ranks[i].waits;
    if (waits.matched > 0) {
      std::string text =
          Concat(rank_names[i], " ", MsText(waits.wait_ns), " of ", MsText(waits.elapse_ns), " ms");
      if (waits.unmatched > 0) {
        text += Concat(" (", std::to_string(waits.unmatched), " without a match are left out)");
      }
      known.push_back(std::move(text));
    } else if (waits.alone + waits.unmatched > 0) {
      alone.push_back(rank_names[i]);
    }
  }
  std::string line;
  if (!known.empty()) {
    line +=
        Concat("Waits in collectives for the last rank to arrive: ", base::Join(known, ", "), "\n");
  }
  if (!alone.empty()) {
    line += Concat(base::Join(alone, ", "),
                   ": waits unknown, the other ranks of the groups were not analysed\n");
  }
  return line.empty() ? line : Concat("\n", line);
}

}  // namespace sonde::cli
