#include "recipes/host_activity/host_activity.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

enum class NameForm : uint8_t { kName, kPython, kBuiltin, kRange };

struct KnownActivity {
  NameForm form;
  HostActivity activity;
  std::string_view place;  // file or type
  std::string_view name;
};
#define NAME(activity, name) {NameForm::kName, HostActivity::activity, "", name},
#define PYTHON(activity, file, name) {NameForm::kPython, HostActivity::activity, file, name},
#define BUILTIN(activity, type, name) {NameForm::kBuiltin, HostActivity::activity, type, name},
#define RANGE(activity, end) {NameForm::kRange, HostActivity::activity, "", end},
#define IS(activity, name)
#define NOT(name)
constexpr KnownActivity kKnownActivities[] = {
#include "recipes/host_activity/activities.inc"
};
#undef NAME
#undef PYTHON
#undef BUILTIN
#undef RANGE
#undef IS
#undef NOT

// A name taken apart.
struct HostName {
  NameForm form = NameForm::kName;
  std::string_view place;
  std::string_view name;
};

// "PATH(LINE): NAME".
std::optional<HostName> AsPython(std::string_view text) {
  const size_t end = text.find("): ");
  const size_t open = text.rfind('(', end);
  if (end == std::string_view::npos || open == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(open + 1, end - open - 1);
  if (line.empty() || line.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return HostName{NameForm::kPython, text.substr(0, open), text.substr(end + 3)};
}

// "<built-in method NAME of TYPE object at 0x...>", "<built-in function NAME>".
std::optional<HostName> AsBuiltin(std::string_view text) {
  constexpr std::string_view kMethod = "<built-in method ";
  constexpr std::string_view kFunction = "<built-in function ";
  if (text.starts_with(kFunction) && text.ends_with('>')) {
    text.remove_prefix(kFunction.size());
    return HostName{NameForm::kBuiltin, "", text.substr(0, text.size() - 1)};
  }
  const size_t of = text.find(" of ");
  const size_t object = text.find(" object at ", of);
  if (!text.starts_with(kMethod) || of == std::string_view::npos ||
      object == std::string_view::npos) {
    return std::nullopt;
  }
  return HostName{NameForm::kBuiltin, text.substr(of + 4, object - of - 4),
                  text.substr(kMethod.size(), of - kMethod.size())};
}

bool EndsInPath(std::string_view path, std::string_view file) {
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

bool IsKnown(const KnownActivity& known, const HostName& host, std::string_view whole) {
  if (known.form == NameForm::kRange) return whole.ends_with(known.name);
  if (known.form != host.form || known.name != host.name) return false;
  return known.form == NameForm::kPython ? EndsInPath(host.place, known.place)
                                         : known.place == host.place;
}

#define SONDE_COLUMNS_HOST_ACTIVITY(C)                                           \
  C(slice_id, Int, "", KeyOf("slice"), "slice of the host")                      \
  C(activity, Text, "", KeyOf("activity"),                                       \
    "data loading, garbage collection, lock, compilation, memory or checkpoint") \
  C(name, Text, "", KeyOf("operator"), "its name")                               \
  C(tid, Opt, "", KeyOf("tid"), "its thread; NULL: unknown")                     \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")                     \
  C(dur_ns, Int, "ns", kLess, "duration, with what it called")                   \
  C(is_outermost, Int, "", kLabel, "1: it lies in no other slice of the same activity")
SONDE_RESULT(HostActivityRow, kHostActivity, "host_activity", SONDE_COLUMNS_HOST_ACTIVITY,
             "what stopped a host: data loading, compilation and the like, by exact names")

// By slice; kOther where it is none of them.
std::vector<HostActivity> ActivitiesOf(const TraceData& data) {
  std::vector<HostActivity> of_name;
  of_name.reserve(data.names.size());
  for (const std::string_view name : data.names) of_name.push_back(ActivityOf(name));
  std::vector<bool> is_host;
  for (const store::TrackRow& track : data.tracks) is_host.push_back(track.device_id < 0);
  std::vector<HostActivity> activities(data.slices.size(), HostActivity::kOther);
  for (const store::SliceRow& slice : data.slices) {
    if (slice.name < 0 || !is_host[static_cast<size_t>(slice.track_id)]) continue;
    activities[static_cast<size_t>(slice.slice_id)] = of_name[static_cast<size_t>(slice.name)];
  }
  for (const store::FrameworkOpRow& op : data.ops) {
    if (static_cast<Scope>(op.scope) != Scope::kDataLoader) continue;
    activities[static_cast<size_t>(op.slice_id)] = HostActivity::kDataLoading;
  }
  return activities;
}

void RunHostActivity(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  const std::vector<HostActivity> activities = ActivitiesOf(data);
  for (const store::SliceRow& slice : data.slices) {
    const HostActivity activity = activities[static_cast<size_t>(slice.slice_id)];
    if (activity == HostActivity::kOther) continue;
    bool is_inside = false;
    for (int32_t id = slice.parent_id; id >= 0 && !is_inside; id = data.Slice(id).parent_id) {
      is_inside = activities[static_cast<size_t>(id)] == activity;
    }
    HostActivityRow row;
    row.slice_id = slice.slice_id;
    row.activity = NameOf(activity);
    row.name = data.Name(slice.name);
    const int32_t thread = data.TrackOf(slice).thread_id;
    if (thread >= 0) row.tid = data.TidOf(thread);
    row.start_ns = slice.ts;
    row.dur_ns = data.DurationNs(slice);
    row.is_outermost = is_inside ? 0 : 1;
    row.Write(rows);
  }
}

}  // namespace

std::string_view NameOf(HostActivity activity) {
  constexpr std::array<std::string_view, 8> kActivityNames = {
      "",           "data loading", "garbage collection", "lock", "compilation", "memory",
      "checkpoint", "other"};
  return kActivityNames[static_cast<size_t>(activity)];
}

HostActivity ActivityOf(std::string_view slice_name) {
  HostName host;
  if (const auto python = AsPython(slice_name)) {
    host = *python;
  } else if (const auto builtin = AsBuiltin(slice_name)) {
    host = *builtin;
  } else {
    const size_t layer = slice_name.find('@');
    host.name = layer == std::string_view::npos ? slice_name : slice_name.substr(layer + 1);
  }
  const auto* known =
      std::find_if(std::begin(kKnownActivities), std::end(kKnownActivities),
                   [&](const KnownActivity& one) { return IsKnown(one, host, slice_name); });
  return known == std::end(kKnownActivities) ? HostActivity::kOther : known->activity;
}

extern const Recipe kHostActivityRecipe;
constexpr Recipe kHostActivityRecipe = {
    &kHostActivity, Reads<store::SliceRow, store::FrameworkOpRow>().WithBounds(), &RunHostActivity};

}  // namespace sonde::recipes
