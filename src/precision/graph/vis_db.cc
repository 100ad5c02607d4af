#include "precision/graph/vis_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "base/temporaries.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::string_view kNodeTable =
    "CREATE TABLE tb_nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL, node_order INTEGER NOT "
    "NULL, node_name TEXT NOT NULL, node_type TEXT NOT NULL, up_node TEXT, sub_nodes TEXT, "
    "precision_index INTEGER, overflow_level TEXT, micro_step_id INTEGER NOT NULL, "
    "matched_node_link TEXT, stack_id TEXT, parallel_merge_info TEXT, matched_distributed TEXT, "
    "modified INTEGER NOT NULL, input_data TEXT, output_data TEXT, data_source TEXT, dump_data_dir "
    "TEXT, step INTEGER NOT NULL, rank INTEGER NOT NULL, is_distributed INTEGER)";
constexpr std::string_view kStackTable =
    "CREATE TABLE tb_stack (id TEXT PRIMARY KEY, stack_info TEXT)";
constexpr std::string_view kConfigTable =
    "CREATE TABLE tb_config (id TEXT PRIMARY KEY, graph_type TEXT NOT NULL, task TEXT, tool_tip "
    "TEXT, micro_steps INTEGER, overflow_check INTEGER, node_colors TEXT NOT NULL, rank_list TEXT "
    "NOT NULL, step_list TEXT NOT NULL)";

// The viewer's texts, in its language: what the colours of a comparison mean.
std::string_view ColourText(Mode mode, size_t level) {
  if (mode == Mode::kMd5) {
    return level == 0 ? "与标杆相比, 此节点所有输入输出的md5值相同"
                      : "与标杆相比, 此节点任意输入输出的md5值不同";
  }
  return mode == Mode::kTensor
             ? "此节点所有输入输出的 tensor 误差, 颜色越深代表调试侧与标杆侧的偏差越大"
             : "此节点所有输入输出的统计量误差, 颜色越深代表调试侧与标杆侧的偏差越大";
}

std::string NodeColours(const VisConfig& config) {
  if (!config.compare) return "null";
  struct Level {
    const char* colour;
    const char* range;
    const char* name;
  };
  static constexpr Level kLevels[] = {{"#FFFCF3", "[0, 0.3]", "pass"},
                                      {"#FFDC7F", "[0.3, 0.6]", "warning"},
                                      {"#FF704D", "[0.6, 1]", "error"}};
  std::string out = "{";
  for (size_t i = 0; i < 3 && !config.structure_only; ++i) {
    out += Concat("\"", kLevels[i].colour, "\": {\"value\": ", kLevels[i].range,
                  ", \"description\": ");
    AppendAsciiJson(ColourText(config.mode, i), &out);
    out += Concat(", \"accuracy_level\": \"", kLevels[i].name, "\"}, ");
  }
  out += R"("#C7C7C7": {"value": [], "description": )";
  AppendAsciiJson("比对过程中节点未匹配上", &out);
  return out + R"(, "accuracy_level": "unmatched node"}})";
}

std::string ToolTip(Mode mode) {
  std::vector<std::pair<std::string_view, std::string_view>> tips;
  if (mode == Mode::kMd5) {
    tips = {{"md5", "数据MD5信息，用于比较两个数据信息是否完全一致"}};
  } else if (mode == Mode::kTensor) {
    tips = {{"Cosine", ""},
            {"EucDist", ""},
            {"MaxAbsErr", ""},
            {"MaxRelativeErr", ""},
            {"One Thousandth Err Ratio", ""},
            {"Five Thousandths Err Ratio", ""}};
  } else {
    tips = {{"Max diff", "NPU与标杆API统计信息比对，最大值的差值"},
            {"Min diff", "NPU与标杆API统计信息比对，最小值的差值"},
            {"Mean diff", "NPU与标杆API统计信息比对，平均值的差值"},
            {"L2norm diff", "NPU与标杆API统计信息比对，2范数（平方根）的差值"}};
  }
  std::string out = "{";
  for (const auto& [key, text] : tips) {
    if (out.size() > 1) out += ", ";
    AppendAsciiJson(key, &out);
    out += ": ";
    AppendAsciiJson(text, &out);
  }
  return out + "}";
}

std::string NumberList(const std::vector<int64_t>& numbers) {
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(numbers[i]);
  }
  return out + "]";
}

// An index of one text column over rows 1, 2, ... with these texts.
uint32_t WriteKeyIndex(const std::vector<std::string>& keys, sqlite::PageFile* file) {
  std::vector<std::pair<std::string_view, int64_t>> sorted;
  for (size_t i = 0; i < keys.size(); ++i) {
    sorted.emplace_back(keys[i], static_cast<int64_t>(i) + 1);
  }
  std::sort(sorted.begin(), sorted.end());
  sqlite::IndexBuilder index(file);
  sqlite::Record record;
  for (const auto& [key, rowid] : sorted) {
    record.Clear();
    record.Text(key);
    record.Int(rowid);
    index.Add(record);
  }
  return index.Finish();
}

uint32_t WriteConfig(const VisConfig& config, sqlite::PageFile* file) {
  static constexpr std::string_view kTasks[] = {"summary", "all", "md5"};
  const bool scored = config.compare && !config.structure_only;
  sqlite::Record record;
  record.Text("1");
  record.Text(config.compare ? "compare" : "build");
  record.Text(!config.compare         ? std::string_view("")
              : config.structure_only ? std::string_view("structure")
                                      : kTasks[static_cast<size_t>(config.mode)]);
  if (scored) {
    record.Text(ToolTip(config.mode));
  } else {
    record.Null();
  }
  record.Int(config.micro_steps);
  record.Int(config.overflow_check ? 1 : 0);
  record.Text(NodeColours(config));
  record.Text(NumberList(config.ranks));
  record.Text(NumberList(config.steps));
  sqlite::TableBuilder table(file);
  table.Add(1, record);
  return table.Finish();
}

}  // namespace

VisDbWriter::VisDbWriter(std::string path)
    : path_(std::move(path)), temporary_(base::TemporaryNextTo(path_)) {}

VisDbWriter::~VisDbWriter() {
  file_.reset();
  base::RemoveTree(temporary_).IgnoreError();  // without Finish() nobody wants it
}

Result<std::unique_ptr<VisDbWriter>> VisDbWriter::Create(const std::string& path) {
  std::unique_ptr<VisDbWriter> writer(new VisDbWriter(path));
  base::RemoveLeftovers(std::string(base::DirName(path)));
  SONDE_ASSIGN_OR_RETURN(writer->file_, sqlite::PageFile::Create(writer->temporary_));
  sqlite::PageFile* const file = writer->file_.get();
  writer->nodes_ = std::make_unique<sqlite::TableBuilder>(file);
  writer->stacks_ = std::make_unique<sqlite::TableBuilder>(file);
  writer->indexes_ = std::make_unique<NodeIndexes>(file);
  return writer;
}

std::vector<std::string> VisDbWriter::AddStacks(const VisGraph& graph) {
  // Calls without forward call share one text, so do calls without stack.
  constexpr int32_t kForwardUnknown = -2;
  const std::string graph_id = GraphId(graph.source, graph.step, graph.rank);
  std::unordered_map<std::string, std::string> key_of_text;
  std::unordered_map<int32_t, std::string> key_of_stack;
  std::vector<std::string> keys;
  keys.reserve(graph.graph->post_order().size());
  for (const int32_t index : graph.graph->post_order()) {
    const GraphNode& node = graph.graph->node(index);
    const bool unknown = node.stack == StackFile::kNoStack && node.forward_unknown;
    const int32_t stack = unknown ? kForwardUnknown : node.stack;
    auto [known, is_new] = key_of_stack.try_emplace(stack);
    if (is_new) {
      std::string text = "[]";
      if (stack >= 0) text = JsonList(graph.graph->dump().stack->Frames(stack));
      if (unknown) text = JsonList({std::string(kNoForwardStack)});
      auto [found, added] = key_of_text.try_emplace(text);
      if (added) {
        found->second = Concat(graph_id, "_", std::to_string(key_of_text.size() - 1));
        stack_keys_.push_back(found->second);
        sqlite::Record record;
        record.Text(found->second);
        record.Text(text);
        stacks_->Add(static_cast<int64_t>(stack_keys_.size()), record);
      }
      known->second = found->second;
    }
    keys.push_back(known->second);
  }
  return keys;
}

void VisDbWriter::AddNodes(IndexedGraph* graph, TextArena* links) {
  constexpr size_t kNodesAtOnce = 1024;
  const VisGraph& view = *graph->view;
  const std::vector<int32_t>& order = view.graph->post_order();
  const std::string graph_id = GraphId(view.source, view.step, view.rank);
  const std::vector<std::string> stack_keys = AddStacks(view);
  graph->first_rowid = node_count_ + 1;
  graph->links.reserve(order.size());
  // While one batch is written, other threads make the rows of the next.
  std::array<std::vector<NodeRow>, 2> batches;
  const auto fill = [&](size_t begin, std::vector<NodeRow>* rows) {
    rows->resize(std::min(kNodesAtOnce, order.size() - begin));
    base::ParallelFor(rows->size(), {.grain_size = 32}, [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        const size_t at = begin + i;
        FillNodeRow(view, {order[at], static_cast<int64_t>(at), graph_id, stack_keys[at]},
                    &(*rows)[i]);
      }
    });
  };
  fill(0, &batches[0]);
  for (size_t begin = 0, turn = 0; begin < order.size(); begin += kNodesAtOnce, turn ^= 1U) {
    base::TaskGroup next;  // waits before the batches go
    if (begin + kNodesAtOnce < order.size()) {
      next.Run([&fill, begin, rows = &batches[turn ^ 1U]] { fill(begin + kNodesAtOnce, rows); });
    }
    for (const NodeRow& row : batches[turn]) {
      nodes_->Add(++node_count_, row.record);
      // Most nodes of a single graph have the same empty result.
      graph->links.push_back(row.link == "[]" ? std::string_view("[]") : links->Store(row.link));
    }
    next.Wait();
  }
}

Status VisDbWriter::AddRank(std::span<const VisGraph> graphs) {
  TextArena links;
  std::vector<IndexedGraph> indexed(graphs.size());
  for (size_t g = 0; g < graphs.size(); ++g) {
    indexed[g].view = &graphs[g];
    AddNodes(&indexed[g], &links);
  }
  return indexes_->AddRank(indexed);
}

void VisDbWriter::SetCommunication(std::string_view source, int64_t step, int64_t rank,
                                   std::string_view name, std::string json) {
  communications_.emplace_back(Concat(GraphId(source, step, rank), "_", name), std::move(json));
}

// The rows stand already; SQLite finds them by their keys and makes room.
Status VisDbWriter::WriteCommunications() const {
  if (communications_.empty()) return Status::Ok();
  sqlite3* db = nullptr;
  int code = sqlite3_open_v2(temporary_.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
  // The file gets its name only when it is complete, so a journal protects nothing.
  constexpr const char* kBegin =
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN";
  if (code == SQLITE_OK) code = sqlite3_exec(db, kBegin, nullptr, nullptr, nullptr);
  sqlite3_stmt* update = nullptr;
  constexpr const char* kUpdate = "UPDATE tb_nodes SET matched_distributed=? WHERE id=?";
  if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, kUpdate, -1, &update, nullptr);
  for (size_t i = 0; code == SQLITE_OK && i < communications_.size(); ++i) {
    const auto& [key, json] = communications_[i];
    sqlite3_bind_text64(update, 1, json.data(), json.size(), SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_text64(update, 2, key.data(), key.size(), SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_step(update);
    code = sqlite3_reset(update);
  }
  sqlite3_finalize(update);
  if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  Status status;
  if (code != SQLITE_OK) {
    const char* const reason = db == nullptr ? "out of memory" : sqlite3_errmsg(db);
    status = base::ResourceExhaustedError(Concat("cannot write '", path_, "': ", reason));
  }
  sqlite3_close(db);
  return status;
}

Status VisDbWriter::Finish(const VisConfig& config) {
  std::vector<sqlite::SchemaEntry> schema;
  schema.push_back({"table", "tb_nodes", "tb_nodes", nodes_->Finish(), kNodeTable});
  for (const sqlite::SchemaEntry& index : indexes_->Finish()) schema.push_back(index);
  schema.push_back({"table", "tb_stack", "tb_stack", stacks_->Finish(), kStackTable});
  schema.push_back({"index", "sqlite_autoindex_tb_stack_1", "tb_stack",
                    WriteKeyIndex(stack_keys_, file_.get()), ""});
  schema.push_back(
      {"table", "tb_config", "tb_config", WriteConfig(config, file_.get()), kConfigTable});
  schema.push_back({"index", "sqlite_autoindex_tb_config_1", "tb_config",
                    WriteKeyIndex({"1"}, file_.get()), ""});
  SONDE_RETURN_IF_ERROR(file_->Finish(schema));
  SONDE_RETURN_IF_ERROR(WriteCommunications());
  std::error_code code;
  std::filesystem::rename(temporary_, path_, code);
  return code ? base::ErrnoStatus(code.value(), "rename to", path_) : Status::Ok();
}

}  // namespace sonde::precision
