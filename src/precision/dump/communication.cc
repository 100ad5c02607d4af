#include "precision/dump/communication.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

using JsonKind = JsonScanner::Kind;

constexpr std::array<std::string_view, 19> kPhaseOps = {"send",
                                                        "recv",
                                                        "broadcast",
                                                        "all_reduce",
                                                        "reduce",
                                                        "all_gather",
                                                        "gather",
                                                        "isend",
                                                        "irecv",
                                                        "scatter",
                                                        "reduce_scatter",
                                                        "_reduce_scatter_base",
                                                        "_all_gather_base",
                                                        "all_to_all_single",
                                                        "all_to_all",
                                                        "all_gather_into_tensor",
                                                        "reduce_scatter_tensor",
                                                        "send_object_list",
                                                        "recv_object_list"};

std::string_view SecondPart(std::string_view name) {
  const size_t begin = name.find('.');
  if (begin == std::string_view::npos) return {};
  return name.substr(begin + 1, name.find('.', begin + 1) - begin - 1);
}

int64_t IntOf(const DumpRow& row) {
  if (row.stats[kMax].kind() != Value::Kind::kInt) return -1;
  return base::ParseInt64(row.stats[kMax].PythonText()).value_or(-1);
}

int64_t ReadInt(JsonScanner* json) {
  if (json->Peek() != JsonKind::kNumber) {
    json->SkipValue();
    return -1;
  }
  return base::ParseInt64(json->Literal()).value_or(-1);
}

// Every {"class_type": ...P2POp, "op", "peer"} and {"type": ...ProcessGroup, "group_ranks",
// "group_id"} inside a value.
class CallScanner {
 public:
  CallScanner(std::string_view raw, Communication* out) : json_(raw, "call"), out_(out) {}

  void Walk() {
    switch (json_.Peek()) {
      case JsonKind::kObject:
        WalkObject();
        return;
      case JsonKind::kArray:
        json_.BeginArray();
        while (json_.NextElement()) Walk();
        return;
      case JsonKind::kError:
        return;
      default:
        json_.SkipValue();
    }
  }

 private:
  void WalkObject() {
    PointToPoint operation;
    bool is_operation = false;
    json_.BeginObject();
    for (std::string_view key; json_.NextKey(&key);) {
      if (key == "class_type" && json_.Peek() == JsonKind::kString) {
        is_operation = json_.String().ends_with(".P2POp");
      } else if (key == "op" && json_.Peek() == JsonKind::kString) {
        operation.is_send = json_.String().find("send") != std::string_view::npos;
      } else if (key == "peer") {
        operation.peer = ReadInt(&json_);
      } else if (key == "group_ranks" && json_.Peek() == JsonKind::kArray) {
        out_->ranks.clear();
        json_.BeginArray();
        while (json_.NextElement()) out_->ranks.push_back(ReadInt(&json_));
      } else if (key == "group_id" && json_.Peek() == JsonKind::kString) {
        out_->group_id = json_.String();
      } else {
        Walk();
      }
    }
    if (is_operation) out_->batch.push_back(operation);
  }

  JsonScanner json_;
  Communication* out_;
};

// The value of the argument `name`, else of the positional argument `position`; -1 when neither is
// an integer.
int64_t RankArgument(const DumpFile& dump, const DumpApi& api, std::string_view name,
                     std::string_view position) {
  int64_t by_position = -1;
  for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
    const DumpRow& row = dump.rows()[r];
    if (row.section != Section::kInput || !row.name.starts_with(api.name)) continue;
    const std::string_view suffix = row.name.substr(api.name.size());
    if (suffix.size() > 7 && suffix.substr(7) == name) return IntOf(row);
    if (suffix.size() > 7 && suffix.substr(7) == position) by_position = IntOf(row);
  }
  return by_position;
}

}  // namespace

bool IsCommunicationPhaseName(std::string_view api) {
  return IsCommunicationName(api) &&
         std::find(kPhaseOps.begin(), kPhaseOps.end(), SecondPart(api)) != kPhaseOps.end();
}

Communication ReadCommunication(const DumpFile& dump, const DumpApi& api) {
  Communication out;
  out.op = SecondPart(api.name);
  CallScanner(api.raw, &out).Walk();
  const auto peer = [&](std::string_view name) { return RankArgument(dump, api, name, "1"); };
  if (out.op == "send" || out.op == "isend" || out.op == "send_object_list") {
    out.kind = Communication::Kind::kSend;
    out.peer = peer("dst");
  } else if (out.op == "recv" || out.op == "irecv" || out.op == "recv_object_list") {
    out.kind = Communication::Kind::kReceive;
    out.peer = peer("src");
  } else if (out.op == "broadcast" || out.op == "scatter") {
    out.kind = Communication::Kind::kFromSource;
    out.peer = out.op == "scatter" ? RankArgument(dump, api, "src", "2") : peer("src");
  } else if (out.op == "gather" || out.op == "reduce") {
    out.kind = Communication::Kind::kToDestination;
    out.peer = out.op == "gather" ? RankArgument(dump, api, "dst", "2") : peer("dst");
  } else if (out.op == "batch_isend_irecv") {
    out.kind = Communication::Kind::kBatch;
  }
  return out;
}

}  // namespace sonde::precision
