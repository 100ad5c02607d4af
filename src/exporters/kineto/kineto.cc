#include "exporters/kineto/kineto.h"

#include <memory>

#include "base/strings.h"
#include "exporters/format/file_set.h"
#include "exporters/kineto/kineto_events.h"

namespace sonde::exporters {
namespace {

// <host>_<pid>_<time>_ascend_pt -> <host>_<pid>_<time>.<ns>.pt.trace.json
std::string FileName(const ExportContext& context) {
  std::string_view worker = context.span_name;
  constexpr std::string_view kSuffix = "_ascend_pt";
  if (worker.ends_with(kSuffix)) worker.remove_suffix(kSuffix.size());
  return base::Concat(worker, ".", std::to_string(context.data().first_ns), ".pt.trace.json");
}

}  // namespace

Status ExportKineto(const ExportContext& context) {
  const int64_t base_ns = KinetoBaseNs(context.data().first_ns);
  const std::string name = FileName(context);
  SONDE_ASSIGN_OR_RETURN(const KinetoImported imported, KinetoImported::Load(context));
  TracePieces pieces;
  const auto head = std::make_shared<const std::string>(KinetoHead(context, base_ns));
  pieces.Add([head](LineBuffer& out) { out.Append(*head); });
  AddKinetoNames(context, base_ns, pieces);
  AddKinetoHost(context, base_ns, pieces);
  AddKinetoDevice(context, imported, base_ns, pieces);
  AddKinetoRest(context, imported, base_ns, pieces);
  AddKinetoInstants(context, base_ns, pieces);
  pieces.Add([name](LineBuffer& out) { out.Append(KinetoTail(name)); });
  FileSet files(context.span_folder);
  files.Add(name, pieces.size(),
            [&pieces](size_t piece, LineBuffer& out) { pieces.Run(piece, out); });
  return files.Write(context.threads);
}

}  // namespace sonde::exporters
