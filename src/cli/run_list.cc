#include "cli/run_list.h"

#include <algorithm>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;

void AddOnce(std::vector<std::string>& texts, std::string_view text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.emplace_back(text);
}

std::string WithoutFramework(const RunList& list) {
  const size_t count = list.without_framework.size();
  return count == 1 ? Concat("the Python program '", list.without_framework.front(),
                             "' imported neither torch nor mindspore")
                    : Concat("none of ", std::to_string(count),
                             " Python programs imported torch or mindspore");
}

}  // namespace

RunList ParseRunList(std::string_view text) {
  RunList list;
  const size_t last_break = text.rfind('\n');
  if (last_break == std::string_view::npos) return list;
  for (const std::string_view line : base::Split(text.substr(0, last_break), '\n')) {
    const size_t first_tab = line.find('\t');
    const size_t second_tab =
        first_tab == std::string_view::npos ? first_tab : line.find('\t', first_tab + 1);
    if (second_tab == std::string_view::npos) continue;
    const std::string_view kind = line.substr(0, first_tab);
    const std::string_view pid = line.substr(first_tab + 1, second_tab - first_tab - 1);
    const std::string_view what = line.substr(second_tab + 1);
    if (kind == "capture") AddOnce(list.captures, what);
    if (kind == "session") AddOnce(list.sessions, what);
    if (kind == "worker") {
      std::erase(list.captures, what);  // which began before that was known
      AddOnce(list.workers, what);
    }
    if (kind == "forked") list.forked.push_back({std::string(pid), std::string(what)});
    if (kind == "process") {
      for (ForkedProcess& child : list.forked) child.is_helper &= child.pid != pid;
    }
    if (kind == "discarded") std::erase(list.captures, what);
    if (kind == "skipped") AddOnce(list.skipped, what);
    if (kind == "failed") AddOnce(list.failed, what);
    if (kind == "seam") AddOnce(list.changed, what);
    if (kind == "wanted") AddOnce(list.wanted, what);
    if (kind == "lost") AddOnce(list.lost, what);
    if (kind == "dump") AddOnce(list.dumps, what);
    if (kind == "config") AddOnce(list.bad_configs, what);
    if (kind == "noframework") list.without_framework.emplace_back(what);
    if (kind == "attached") list.attached = true;
    if (kind == "control") list.listened = true;
    if (kind == "server") list.served = true;
    if (kind == "answers") list.answers = true;
  }
  return list;
}

std::vector<std::string> MissingLines(const RunList& list) {
  std::vector<std::string> lines;
  for (const std::string& lost : list.lost) lines.push_back(Concat("not recorded: ", lost));
  for (const std::string& title : list.wanted) {
    const auto is_same = [&](const std::string& lost) { return lost.starts_with(title + ":"); };
    if (std::any_of(list.lost.begin(), list.lost.end(), is_same)) continue;
    if (std::find(list.changed.begin(), list.changed.end(), title) != list.changed.end()) continue;
    lines.push_back(Concat("not recorded: ", title,
                           ": no process imported the module that is changed for it (`sonde "
                           "doctor -- COMMAND` looks for its names)"));
  }
  return lines;
}

std::string NothingRecordedReason(const RunList& list, bool has_failed) {
  if (!list.captures.empty()) return {};
  if (!list.dumps.empty()) return Concat("dumped: ", base::Join(list.dumps, ", "));
  if (!list.failed.empty()) {
    return Concat("nothing was recorded: ", base::Join(list.failed, "; "));
  }
  // A server that refused to start a session has reported it.
  if (list.served && !list.lost.empty()) {
    return Concat("nothing was recorded: ", base::Join(list.lost, "; "));
  }
  if (list.listened) {
    return "nothing was recorded: no POST /start_profile came while the program ran";
  }
  if (list.served && has_failed && !list.answers) {
    return "nothing was recorded: the command ended with an error before it answered a request; "
           "its own lines above name it";
  }
  // Before what was skipped: a server compiles in processes that are.
  if (list.served) {
    return "nothing was recorded: no session began while it ran (POST /start_profile begins one of "
           "a server; of a client, like vllm bench serve, nothing is recorded)";
  }
  if (!list.skipped.empty()) {
    return Concat("nothing was recorded: ", base::Join(list.skipped, "; "));
  }
  if (!list.without_framework.empty()) {
    return Concat("nothing was recorded: ", WithoutFramework(list));
  }
  return "nothing was recorded: the command ran no Python program that Sonde could attach to "
         "(a Python started with -E, -I or -S, or with a PYTHONPATH of its own, is out of reach)";
}

std::string NothingDumpedReason(const RunList& list) {
  if (list.attached || list.without_framework.empty()) return {};
  std::string text = Concat("nothing was dumped: ", WithoutFramework(list));
  if (!list.bad_configs.empty()) {
    text += Concat("; the configuration would be refused: ", list.bad_configs.front());
  }
  return text;
}

std::string FoldersInWords(const std::vector<std::string>& paths) {
  constexpr size_t kFew = 4;
  if (paths.size() <= kFew) return base::Join(paths, ", ");
  std::vector<std::string> parents;
  for (const std::string& path : paths) AddOnce(parents, base::DirName(path));
  const std::string more = parents.size() == 1
                               ? std::string()
                               : Concat(" and ", std::to_string(parents.size() - 1), " more");
  return Concat(base::CountOf(paths.size(), "capture"), " in ", parents.front(), more,
                ", the last ", base::BaseName(paths.back()));
}

}  // namespace sonde::cli
