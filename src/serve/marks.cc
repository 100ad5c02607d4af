#include "serve/marks.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace sonde::serve {

using base::Concat;

Status Marks::Open(const store::Queryable& store, const store::ZoomIndex& zoom) {
  SONDE_ASSIGN_OR_RETURN(const auto rows,
                         store.Query("SELECT track_id, count(*), min(ts), max(ts) FROM mark_ "
                                     "WHERE slice_id < 0 GROUP BY 1"));
  if (rows.rows() == 0) return {};
  SONDE_ASSIGN_OR_RETURN(const auto last,
                         store.Query("SELECT coalesce(max(track_id), -1) + 1 FROM track_"));
  no_track_ = static_cast<int32_t>(last.Int(0, 0));
  begin_ns_ = rows.Int(2, 0);
  end_ns_ = rows.Int(3, 0);
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto track = static_cast<int32_t>(rows.Int(0, row));
    lanes_[track < 0 ? no_track_ : track].count = rows.Int(1, row);
    begin_ns_ = std::min(begin_ns_, rows.Int(2, row));
    end_ns_ = std::max(end_ns_, rows.Int(3, row));
  }
  for (const store::ZoomFileLane& lane : zoom.lanes()) {
    const auto found = lanes_.find(lane.track_id);
    if (found != lanes_.end()) found->second.depth = std::max(found->second.depth, lane.depth + 1);
  }
  return {};
}

int32_t Marks::DepthOf(int32_t track) const {
  const auto found = lanes_.find(track);
  return found == lanes_.end() ? -1 : found->second.depth;
}

std::string Marks::Condition(int32_t track) const {
  return Concat("slice_id < 0 AND track_id = ", std::to_string(track == no_track_ ? -1 : track));
}

Result<Marks::List> Marks::Read(const store::Queryable& store, const std::string& where) const {
  List list;
  SONDE_RETURN_IF_ERROR(
      store.Scan(Concat("SELECT ts, mark_id, message FROM mark_ WHERE ", where, " ORDER BY ts, 2"),
                 [&](const store::Chunk& chunk) -> Status {
                   for (size_t row = 0; row < chunk.rows(); ++row) {
                     list.push_back({chunk.Values<int64_t>(0)[row], chunk.Values<int32_t>(1)[row],
                                     chunk.Values<int32_t>(2)[row]});
                   }
                   return {};
                 }));
  return list;
}

// Null for a track that has too many.
Result<std::shared_ptr<const Marks::List>> Marks::Kept(const store::Queryable& store,
                                                       int32_t track) const {
  if (static_cast<size_t>(lanes_.at(track).count) > longest_) return std::shared_ptr<const List>();
  if (auto known = kept_.Find(track)) return *known;
  SONDE_ASSIGN_OR_RETURN(List list, Read(store, Condition(track)));
  const size_t count = list.size();
  return kept_.Keep(track, std::make_shared<const List>(std::move(list)), count);
}

Status Marks::Query(const store::Queryable& store, int32_t track, const store::ZoomWindow& window,
                    std::vector<store::ZoomSlice>& out) const {
  if (DepthOf(track) < 0) return {};
  SONDE_ASSIGN_OR_RETURN(auto list, Kept(store, track));
  if (list == nullptr) {
    SONDE_ASSIGN_OR_RETURN(
        List seen,
        Read(store, Concat(Condition(track), " AND ts >= ", std::to_string(window.begin_ns),
                           " AND ts < ", std::to_string(window.end_ns))));
    list = std::make_shared<const List>(std::move(seen));
  }
  auto at = std::lower_bound(list->begin(), list->end(), window.begin_ns,
                             [](const Mark& mark, int64_t ts) { return mark.ts < ts; });
  while (at != list->end() && at->ts < window.end_ns) {
    const Mark& first = *at;
    uint32_t count = 0;
    for (; at != list->end() && at->ts - first.ts < window.pixel_ns; ++at) ++count;
    out.push_back({first.ts, 0, static_cast<int32_t>(MarkToSliceId(first.id)), first.name, count});
  }
  return {};
}

}  // namespace sonde::serve
