#include "importers/ascend_raw/host_facts.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "importers/ascend/device_sheets.h"
#include "importers/ascend/device_types.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/record_stream.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

constexpr uint32_t kMostStreams = 56;  // in a record, like that of threads
constexpr uint32_t kMostThreads = 25;

int64_t Bytes(uint64_t number) { return number <= INT64_MAX ? static_cast<int64_t>(number) : -1; }

}  // namespace

bool HostFacts::Read(const Stream& stream) {
  const std::vector<std::string_view> parts = base::Split(stream.name, '.');
  if (units_.Read(stream)) return true;
  if (parts.size() != 3 || parts[1] != "additional") return false;
  const auto read = [&](const auto& take) {
    ReadRecords(stream, kAdditionalForm, rows_.issues, take);
    return true;
  };
  if (parts[2] == "graph_id_map") {
    return read([this](std::string_view r) {
      model_names_[At<uint32_t>(r, kRecordData + 12)] = At<uint64_t>(r, kRecordData);
    });
  }
  if (parts[2] == "model_exeom") {
    return read([this](std::string_view r) {
      model_names_[At<uint32_t>(r, kRecordData)] = At<uint64_t>(r, kRecordData + 8);
    });
  }
  if (parts[2] == "fusion_op_info") {
    return read([&](std::string_view r) { TakeFusion(r, stream); });
  }
  if (parts[2] == "static_op_mem") {
    return read([this](std::string_view r) {
      r.remove_prefix(kRecordData);
      static_memory_.push_back({.size = At<int64_t>(r, 0),
                                .name = At<uint64_t>(r, 8),
                                .begin = At<uint64_t>(r, 16),
                                .end = At<uint64_t>(r, 24),
                                .dynamic_name = At<uint64_t>(r, 40),
                                .graph = At<uint32_t>(r, 48)});
    });
  }
  if (parts[2] == "logic_stream_info") {
    return read([this](std::string_view r) {
      TakePairs(r, At<uint32_t>(r, kRecordData), kRecordData + 4, kMostStreams, streams_);
    });
  }
  if (parts[2] == "Multi_Thread") {
    return read([this](std::string_view r) {
      TakePairs(r, At<uint32_t>(r, 8), kRecordData, kMostThreads, threads_);
    });
  }
  if (parts[2] == "mc2_comm_info") return read([this](std::string_view r) { TakeCommunicator(r); });
  if (parts[2] == "task_memory_info") return read([this](std::string_view r) { TakeMemory(r); });
  return false;
}

void HostFacts::TakeFusion(std::string_view record, const Stream& stream) {
  constexpr uint32_t kMost = 8;
  const std::string_view data = record.substr(kRecordData);
  const auto count = At<uint32_t>(data, 8);
  if (count > kMost) return rows_.issues.Add(kBadRecord, stream.name);
  Fusion fusion{.head = ReadHead(record),
                .name = At<uint64_t>(data, 0),
                .operators = {},
                .bytes = At<std::array<uint64_t, 5>>(data, 12)};
  for (uint32_t i = 0; i < count; ++i) fusion.operators.push_back(At<uint64_t>(data, 52 + 8 * i));
  fusions_.push_back(std::move(fusion));
}

void HostFacts::TakeMemory(std::string_view record) {
  const std::string_view data = record.substr(kRecordData);
  memory_.push_back({.head = ReadHead(record),
                     .address = At<uint64_t>(data, 0),
                     .size = At<int64_t>(data, 8),
                     .name = At<uint64_t>(data, 16),
                     .allocated = At<uint64_t>(data, 24),
                     .reserved = At<uint64_t>(data, 32),
                     .device = At<uint32_t>(data, 40)});
}

void HostFacts::TakeCommunicator(std::string_view record) {
  constexpr uint32_t kMost = 8;  // of more the list is empty
  const std::string_view data = record.substr(kRecordData);
  CommunicationStreams streams{
      .group = At<uint64_t>(data, 0), .kernel_stream = At<uint32_t>(data, 20), .streams = {}};
  const auto count = At<uint32_t>(data, 24);
  for (uint32_t i = 0; i < count && count <= kMost; ++i) {
    streams.streams.push_back(At<uint32_t>(data, 28 + size_t{4} * i));
  }
  communicators_.push_back(std::move(streams));
}

void HostFacts::TakePairs(std::string_view record, uint32_t first, size_t count_at, uint32_t most,
                          std::set<std::pair<uint32_t, uint32_t>>& pairs) {
  const auto count = At<uint32_t>(record, count_at);
  if (count > most) return rows_.issues.Add(kBadRecord, "additional");
  for (uint32_t i = 0; i < count; ++i) {
    pairs.emplace(first, At<uint32_t>(record, count_at + 4 + size_t{4} * i));
  }
}

void HostFacts::Build(HostLayer& host, int64_t pid) {
  AddFusions(host);
  AddStaticMemory(host.dictionary());
  AddPairs("logic_stream", streams_);
  AddPairs("thread_group", threads_);
  AddMemory(host.dictionary(), pid);
  units_.Build(host, pid);
}

// A record belongs to the model whose call contains it.
void HostFacts::AddFusions(HostLayer& host) {
  Dictionary& dictionary = host.dictionary();
  base::JsonWriter json(nullptr);
  json.BeginArray();
  bool is_any = false;
  for (const Fusion& fusion : fusions_) {
    const auto model = host.ModelAt(fusion.head);
    if (!model) {
      rows_.issues.Add(kNoInterface, "fusion_op_info");
      continue;
    }
    is_any = true;
    const auto named = model_names_.find(static_cast<uint32_t>(*model));
    std::vector<std::string> names;
    for (const uint64_t hash : fusion.operators) {
      names.emplace_back(dictionary.View(dictionary.Text(hash)));
    }
    json.BeginArray();
    json.String("host");
    json.String(named == model_names_.end() ? "" : dictionary.View(dictionary.Text(named->second)));
    json.String(std::to_string(*model));
    json.String(dictionary.View(dictionary.Text(fusion.name)));
    json.String(base::Join(names, ";"));
    for (const uint64_t bytes : fusion.bytes) {
      json.String(base::PythonDoubleText(static_cast<double>(bytes) / kKilo));
    }
    json.EndArray();
  }
  json.EndArray();
  if (is_any) rows_.AddJson(kFusedOperators, json.Take());
}

void HostFacts::AddStaticMemory(Dictionary& dictionary) {
  constexpr uint64_t kToTheEnd = 0xFFFFFFFE;  // printed as the largest number
  if (static_memory_.empty()) return;
  base::JsonWriter json(nullptr);
  json.BeginArray();
  for (const StaticMemory& memory : static_memory_) {
    const auto text = [&](uint64_t hash, std::string_view none) {
      return hash == 0 ? none : dictionary.View(dictionary.Text(hash));
    };
    json.BeginArray();
    json.String("host");
    json.String(text(memory.name, "TOTAL"));
    json.String(text(memory.dynamic_name, "0"));
    json.String(std::to_string(memory.graph));
    json.String(std::to_string(memory.begin));
    json.String(std::to_string(memory.end == kToTheEnd ? kToTheEnd + 1 : memory.end));
    json.String(base::PythonDoubleText(static_cast<double>(memory.size) / kKilo));
    json.EndArray();
  }
  json.EndArray();
  rows_.AddJson(kStaticMemory, json.Take());
}

// As rows of two numbers.
void HostFacts::AddPairs(std::string_view key,
                         const std::set<std::pair<uint32_t, uint32_t>>& pairs) {
  if (pairs.empty()) return;
  std::vector<std::string> rows;
  for (const auto& [one, other] : pairs) {
    rows.push_back(base::Concat("[", std::to_string(one), ",", std::to_string(other), "]"));
  }
  rows_.AddJson(key, base::Concat("[", base::Join(rows, ","), "]"));
}

void HostFacts::AddEvent(const MemoryChange& change, int64_t pid) {
  store::MemoryEventRow event;
  event.ts = clock_.FromTicks(change.head.time);
  event.process_id = rows_.Process(pid);
  event.device_type = kNpuType;
  event.device_index = static_cast<int16_t>(std::min<uint32_t>(change.device, INT16_MAX));
  event.pointer = static_cast<int64_t>(change.address);
  event.size_bytes = change.size;
  event.total_allocated = Bytes(change.allocated);
  event.total_reserved = Bytes(change.reserved);
  event.thread_id = rows_.Thread(event.process_id, change.head.tid);
  event.component = rows_.names.Intern("GE");
  rows_.memory_events.push_back(event);
}

// A size above 0 begins the life of a block; one below 0 ends that of the same operator and
// address.
void HostFacts::AddMemory(Dictionary& dictionary, int64_t pid) {
  SortByTime(memory_, rows_.pool());
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, size_t> open;  // of memory_blocks
  base::SpillSteps steps(rows_.pool());
  for (const MemoryChange& change : memory_) {
    steps.Next();
    AddEvent(change, pid);
    const std::tuple key(change.name, change.address, change.device);
    const store::MemoryEventRow& event = rows_.memory_events.back();
    if (change.size <= 0) {
      const auto found = open.find(key);
      if (found == open.end()) continue;
      store::MemoryBlockRow& block = rows_.memory_blocks[found->second];
      block.free_ts = event.ts;
      block.free_total_allocated = event.total_allocated;
      block.free_total_reserved = event.total_reserved;
      open.erase(found);
      continue;
    }
    open[key] = rows_.memory_blocks.size();
    store::MemoryBlockRow block;
    block.process_id = event.process_id;
    block.device_type = event.device_type;
    block.device_index = event.device_index;
    block.pointer = event.pointer;
    block.size_bytes = change.size;
    block.alloc_ts = event.ts;
    block.alloc_total_allocated = event.total_allocated;
    block.alloc_total_reserved = event.total_reserved;
    block.name = dictionary.Text(change.name);
    block.component = event.component;
    rows_.memory_blocks.push_back(block);
  }
}

}  // namespace sonde::importers::raw
