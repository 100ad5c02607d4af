#include "precision/graph/vis_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr const char* kTables =
    "CREATE TABLE tb_nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL, node_order INTEGER NOT "
    "NULL, node_name TEXT NOT NULL, node_type TEXT NOT NULL, up_node TEXT, sub_nodes TEXT, "
    "precision_index INTEGER, overflow_level TEXT, micro_step_id INTEGER NOT NULL, "
    "matched_node_link TEXT, stack_id TEXT, parallel_merge_info TEXT, matched_distributed TEXT, "
    "modified INTEGER NOT NULL, input_data TEXT, output_data TEXT, data_source TEXT, dump_data_dir "
    "TEXT, step INTEGER NOT NULL, rank INTEGER NOT NULL, is_distributed INTEGER);"
    "CREATE TABLE tb_stack (id TEXT PRIMARY KEY, stack_info TEXT);"
    "CREATE TABLE tb_config (id TEXT PRIMARY KEY, graph_type TEXT NOT NULL, task TEXT, tool_tip "
    "TEXT, micro_steps INTEGER, overflow_check INTEGER, node_colors TEXT NOT NULL, rank_list TEXT "
    "NOT NULL, step_list TEXT NOT NULL);";

constexpr const char* kIndexes =
    "CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order);"
    "CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name);"
    "CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order);"
    "CREATE INDEX index4 ON tb_nodes (step, rank, node_order);"
    "CREATE INDEX index5 ON tb_nodes (step, rank, micro_step_id, node_order);"
    "CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link);"
    "CREATE INDEX index7 ON tb_nodes (is_distributed);";

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

void BindText(sqlite3_stmt* statement, int column, std::string_view text) {
  // Bound texts live until the statement has run.
  sqlite3_bind_text64(statement, column, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

std::string GraphId(std::string_view source, int64_t step, int64_t rank) {
  return Concat(source, "_", std::to_string(step), "_", std::to_string(rank));
}

std::string LinkTo(const Graph& partner, int32_t index) {
  std::vector<std::string> names;
  for (int32_t at = index; at != kNoNode; at = partner.node(at).parent) {
    names.emplace_back(partner.node(at).name);
  }
  return JsonList({names.rbegin(), names.rend()});
}

}  // namespace

std::string_view PrecisionText(Precision precision) {
  static constexpr std::string_view kTexts[] = {"", "0", "0.5", "1"};
  return kTexts[static_cast<size_t>(precision)];
}

VisDbWriter::VisDbWriter(std::string path)
    : path_(std::move(path)), temporary_(Concat(path_, ".tmp")) {}

VisDbWriter::~VisDbWriter() {
  for (sqlite3_stmt* statement : {insert_node_, insert_stack_, update_communication_}) {
    sqlite3_finalize(statement);
  }
  if (db_ == nullptr) return;
  sqlite3_close(db_);
  base::RemoveTree(temporary_).IgnoreError();  // without Finish() nobody wants it
}

Result<std::unique_ptr<VisDbWriter>> VisDbWriter::Create(const std::string& path) {
  std::unique_ptr<VisDbWriter> writer(new VisDbWriter(path));
  SONDE_RETURN_IF_ERROR(writer->Open());
  return writer;
}

Status VisDbWriter::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return Status::Ok();
  return base::ResourceExhaustedError(Concat("cannot write '", path_, "': ", sqlite3_errmsg(db_)));
}

Status VisDbWriter::Prepare(const char* sql, sqlite3_stmt** statement) {
  if (sqlite3_prepare_v2(db_, sql, -1, statement, nullptr) == SQLITE_OK) return Status::Ok();
  return base::InternalError(Concat("cannot prepare '", sql, "': ", sqlite3_errmsg(db_)));
}

Status VisDbWriter::Step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (code == SQLITE_DONE) return Status::Ok();
  return base::ResourceExhaustedError(Concat("cannot write '", path_, "': ", sqlite3_errmsg(db_)));
}

Status VisDbWriter::Open() {
  SONDE_RETURN_IF_ERROR(base::RemoveTree(temporary_));
  if (sqlite3_open_v2(temporary_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                      nullptr) != SQLITE_OK) {
    const std::string reason = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
    return base::PermissionDeniedError(Concat("cannot create '", path_, "': ", reason));
  }
  // The file gets its name only when it is complete, so a journal protects nothing.
  SONDE_RETURN_IF_ERROR(
      // Large pages: the columns of the indexes lie behind long texts in every row.
      Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
              "PRAGMA page_size=16384; PRAGMA cache_size=-48000; PRAGMA temp_store=MEMORY;"));
  SONDE_RETURN_IF_ERROR(Execute(kTables));
  SONDE_RETURN_IF_ERROR(Execute("BEGIN"));
  SONDE_RETURN_IF_ERROR(
      Prepare("INSERT INTO tb_nodes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,'','{}',0,?,?,?,?,?,?,?)",
              &insert_node_));
  SONDE_RETURN_IF_ERROR(Prepare("INSERT INTO tb_stack VALUES (?,?)", &insert_stack_));
  return Prepare("UPDATE tb_nodes SET matched_distributed=? WHERE id=?", &update_communication_);
}

Status VisDbWriter::SetStackId(const VisGraph& graph, const GraphNode& node, std::string* id) {
  // Calls without forward call share one text, so do calls without stack.
  const int32_t stack = node.stack == StackFile::kNoStack && node.forward_unknown ? -2 : node.stack;
  const auto known = known_stacks_.find(stack);
  if (known != known_stacks_.end()) {
    *id = known->second;
    return Status::Ok();
  }
  std::string info = "[]";
  if (stack >= 0) info = JsonList(graph.graph->dump().stack->Frames(stack));
  if (stack == -2) info = JsonList({std::string(kNoForwardStack)});
  auto [found, added] = stack_ids_.try_emplace(info);
  if (added) {
    found->second = Concat(GraphId(graph.source, graph.step, graph.rank), "_",
                           std::to_string(stack_ids_.size() - 1));
    BindText(insert_stack_, 1, found->second);
    BindText(insert_stack_, 2, info);
    SONDE_RETURN_IF_ERROR(Step(insert_stack_));
  }
  *id = found->second;
  known_stacks_.emplace(stack, *id);
  return Status::Ok();
}

// The long texts of one node, made apart from the writing so that several threads can.
struct NodeTexts {
  std::string id;
  std::string stack_id;
  std::string children;
  std::string link;
  std::string inputs;
  std::string outputs;
};

namespace {

void FillTexts(const VisGraph& graph, int32_t index, NodeTexts* out) {
  const GraphNode& node = graph.graph->node(index);
  const DumpFile& dump = *graph.graph->dump().dump;
  out->id = Concat(GraphId(graph.source, graph.step, graph.rank), "_", node.name);
  out->children.clear();
  for (const int32_t child : node.children) {
    out->children += out->children.empty() ? "[" : ", ";
    AppendAsciiJson(graph.graph->node(child).name, &out->children);
  }
  if (!out->children.empty()) out->children += ']';
  const int32_t partner =
      graph.matches == nullptr ? kNoNode : (*graph.matches)[static_cast<size_t>(index)];
  out->link = partner == kNoNode ? "[]" : LinkTo(*graph.partner, partner);
  const bool compared =
      graph.results != nullptr && partner != kNoNode && !graph.results->rows.empty();
  NodeDataOptions options = {false, graph.checksums, compared ? graph.results : nullptr};
  out->inputs = NodeData(dump, node.api, options);
  options.output = true;
  out->outputs = NodeData(dump, node.api, options);
}

}  // namespace

Status VisDbWriter::AddNode(const VisGraph& graph, int32_t index, int64_t order,
                            const NodeTexts& texts) {
  const GraphNode& node = graph.graph->node(index);
  const auto at = static_cast<size_t>(index);
  const std::string graph_id = GraphId(graph.source, graph.step, graph.rank);
  const std::string type = std::to_string(static_cast<int>(node.type));
  const std::string& folder = graph.data_folder;
  sqlite3_stmt* const s = insert_node_;
  BindText(s, 1, texts.id);
  BindText(s, 2, graph_id);
  sqlite3_bind_int64(s, 3, order);
  BindText(s, 4, node.name);
  BindText(s, 5, type);
  BindText(s, 6,
           node.parent == kNoNode ? std::string_view("") : graph.graph->node(node.parent).name);
  BindText(s, 7, texts.children);
  const Precision precision =
      graph.results == nullptr ? Precision::kNone : graph.results->precision[at];
  if (precision == Precision::kNone) {
    sqlite3_bind_null(s, 8);
  } else if (precision == Precision::kWarning) {
    sqlite3_bind_double(s, 8, 0.5);
  } else {
    sqlite3_bind_int64(s, 8, precision == Precision::kError ? 1 : 0);
  }
  const Overflow overflow = graph.overflow == nullptr ? Overflow::kNone : (*graph.overflow)[at];
  if (overflow == Overflow::kNone) {
    sqlite3_bind_null(s, 9);
  } else {
    BindText(s, 9, OverflowText(overflow));
  }
  sqlite3_bind_int64(s, 10, node.micro_step);
  BindText(s, 11, texts.link);
  BindText(s, 12, texts.stack_id);
  BindText(s, 13, texts.inputs);
  BindText(s, 14, texts.outputs);
  BindText(s, 15, graph.source);
  if (folder.empty()) {
    sqlite3_bind_null(s, 16);
  } else {
    BindText(s, 16, folder);
  }
  sqlite3_bind_int64(s, 17, graph.step);
  sqlite3_bind_int64(s, 18, graph.rank);
  sqlite3_bind_int64(s, 19, node.name.starts_with("Distributed") ? 1 : 0);
  return Step(s);
}

Status VisDbWriter::AddGraph(const VisGraph& graph) {
  constexpr size_t kNodesAtOnce = 1024;
  stack_ids_.clear();
  known_stacks_.clear();
  const std::vector<int32_t>& order = graph.graph->post_order();
  // While one batch is written, other threads make the texts of the next.
  std::array<std::vector<NodeTexts>, 2> batches;
  const auto fill = [&](size_t begin, std::vector<NodeTexts>* texts) {
    texts->resize(std::min(kNodesAtOnce, order.size() - begin));
    base::ParallelFor(texts->size(), {.grain_size = 64}, [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) FillTexts(graph, order[begin + i], &(*texts)[i]);
    });
  };
  fill(0, &batches[0]);
  for (size_t begin = 0, turn = 0; begin < order.size(); begin += kNodesAtOnce, turn ^= 1U) {
    base::TaskGroup next;  // waits before the batches go
    if (begin + kNodesAtOnce < order.size()) {
      next.Run([&fill, begin, texts = &batches[turn ^ 1U]] { fill(begin + kNodesAtOnce, texts); });
    }
    std::vector<NodeTexts>& texts = batches[turn];
    for (size_t i = 0; i < texts.size(); ++i) {
      const int32_t index = order[begin + i];
      SONDE_RETURN_IF_ERROR(SetStackId(graph, graph.graph->node(index), &texts[i].stack_id));
      SONDE_RETURN_IF_ERROR(AddNode(graph, index, static_cast<int64_t>(begin + i), texts[i]));
    }
    next.Wait();
  }
  return Status::Ok();
}

Status VisDbWriter::SetCommunication(std::string_view source, int64_t step, int64_t rank,
                                     std::string_view name, const std::string& json) {
  const std::string id = Concat(GraphId(source, step, rank), "_", name);
  BindText(update_communication_, 1, json);
  BindText(update_communication_, 2, id);
  return Step(update_communication_);
}

Status VisDbWriter::AddConfig(const VisConfig& config) {
  sqlite3_stmt* insert = nullptr;
  SONDE_RETURN_IF_ERROR(Prepare("INSERT INTO tb_config VALUES ('1',?,?,?,?,?,?,?,?)", &insert));
  static constexpr std::string_view kTasks[] = {"summary", "all", "md5"};
  const std::string tips = ToolTip(config.mode);
  const std::string colours = NodeColours(config);
  const std::string ranks = NumberList(config.ranks);
  const std::string steps = NumberList(config.steps);
  BindText(insert, 1, config.compare ? "compare" : "build");
  BindText(insert, 2,
           !config.compare         ? std::string_view("")
           : config.structure_only ? std::string_view("structure")
                                   : kTasks[static_cast<size_t>(config.mode)]);
  if (config.compare && !config.structure_only) {
    BindText(insert, 3, tips);
  } else {
    sqlite3_bind_null(insert, 3);
  }
  sqlite3_bind_int64(insert, 4, config.micro_steps);
  sqlite3_bind_int64(insert, 5, config.overflow_check ? 1 : 0);
  BindText(insert, 6, colours);
  BindText(insert, 7, ranks);
  BindText(insert, 8, steps);
  Status status = Step(insert);
  sqlite3_finalize(insert);
  return status;
}

Status VisDbWriter::Finish() {
  SONDE_RETURN_IF_ERROR(Execute(kIndexes));
  SONDE_RETURN_IF_ERROR(Execute("COMMIT"));
  for (sqlite3_stmt** statement : {&insert_node_, &insert_stack_, &update_communication_}) {
    sqlite3_finalize(*statement);
    *statement = nullptr;
  }
  if (sqlite3_close(db_) != SQLITE_OK) {
    return base::InternalError(Concat("cannot close '", path_, "': ", sqlite3_errmsg(db_)));
  }
  db_ = nullptr;
  std::error_code code;
  std::filesystem::rename(temporary_, path_, code);
  return code ? base::ErrnoStatus(code.value(), "rename to", path_) : Status::Ok();
}

}  // namespace sonde::precision
