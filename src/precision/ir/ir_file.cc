#include "precision/ir/ir_file.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

constexpr std::string_view kEntry = "# IR entry: @";
constexpr std::string_view kOlderEntry = "#IR entry      : @";
constexpr std::string_view kScope = "# Fullname with scope: (";
constexpr std::string_view kOlderScope = ": full_name_with_scope: (";
constexpr std::string_view kInFile = "# In file ";
constexpr std::string_view kShared = "<~~";
constexpr std::string_view kPrimitive = "PrimFunc_";
constexpr std::string_view kActors = "actor_set";  // of the run time: no graphs
constexpr std::string_view kPackages = "/site-packages/mindspore/";

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<int64_t> NumberBehind(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  return base::ParseInt64(base::Trim(line.substr(key.size())));
}

// The end of a bracket that opens at `begin`, texts in quotes aside; npos where it does not close.
size_t EndOfBracket(std::string_view text, size_t begin) {
  int depth = 0;
  char quote = '\0';
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

// The text in quotes behind a key that is a whole word; empty: none.
std::string_view QuotedBehind(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  while (at != std::string_view::npos && at > 0 && text[at - 1] == '_') at = text.find(key, at + 1);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  const size_t end = text.starts_with('"') ? text.find('"', 1) : std::string_view::npos;
  return end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
}

struct Place {
  std::string file;
  int32_t line = 0;
  std::string text;
};

// "<path>:<line>~<end>, <col>~<col>/<text>/" or the older "<path>(<line>)/<text>/".
std::optional<Place> ParsePlace(std::string_view text) {
  if (const size_t shared = text.rfind(kShared); shared != std::string_view::npos) {
    text = text.substr(0, shared);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ':' && text[i] != '(') continue;
    size_t end = i + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const char next = end < text.size() ? text[end] : '\0';
    const bool is_number = end > i + 1 && (next == '~' || next == ',' || next == ')');
    if (!is_number) continue;
    Place place;
    place.file = text.substr(0, i);
    place.line =
        static_cast<int32_t>(base::ParseInt64(text.substr(i + 1, end - i - 1)).value_or(0));
    const size_t slash = text.find('/', end);
    if (slash != std::string_view::npos) {
      std::string_view source = text.substr(slash + 1);
      if (source.ends_with('/')) source.remove_suffix(1);
      place.text = base::Trim(source);
    }
    return place;
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(IrFile& out) : out_(out) {}

  void Take(std::string_view line) {
    const std::string_view text = base::Trim(line);
    if (text.empty()) return;
    if (graph_.empty()) {
      TakeHead(text);
    } else if (text == "}") {
      graph_.clear();
    } else {
      TakeBody(text);
    }
  }

 private:
  void TakeHead(std::string_view text) {
    if (text.starts_with(kEntry)) out_.entry = text.substr(kEntry.size());
    if (text.starts_with(kOlderEntry)) out_.entry = text.substr(kOlderEntry.size());
    if (const auto count = NumberBehind(text, "# Total subgraphs:")) out_.subgraphs = *count;
    if (const auto count = NumberBehind(text, "Total number of nodes:")) out_.total_nodes = *count;
    if (const auto count = NumberBehind(text, "Total number of cnodes:")) {
      out_.total_cnodes = *count;
    }
    if (text.starts_with("# Attrs:")) in_attributes_ = true;
    if (text.starts_with("# Total params") || text.starts_with("# Params")) in_attributes_ = false;
    const size_t colon = text.find(':');
    if (in_attributes_ && text[0] != '#' && colon != std::string_view::npos) {
      out_.attributes.emplace_back(text.substr(0, colon), base::Trim(text.substr(colon + 1)));
    }
    if (text.starts_with("%para") && colon != std::string_view::npos) {
      out_.parameters.push_back(
          {std::string(text.substr(0, colon)), std::string(base::Trim(text.substr(colon + 1)))});
    }
    if (text.starts_with("subgraph @") && text.ends_with('{')) {
      const size_t end = text.find('(');
      graph_ = text.substr(10, end == std::string_view::npos ? end : end - 10);
      out_.graphs.push_back(graph_);
    }
  }

  void TakeBody(std::string_view text) {
    const bool is_node = text.starts_with('%') || text.starts_with("Return(");
    if (is_node) {
      TakeNode(text);
    } else if (!out_.nodes.empty() && out_.nodes.back().graph == graph_) {
      TakeDetail(out_.nodes.back(), text);
    }
  }

  // %0(CNode_69$a) = PrimFunc_Sub(%para1_x, ...) {...}
  void TakeNode(std::string_view text) {
    IrNode node;
    node.graph = graph_;
    const size_t equals = text.find(" = ");
    std::string_view call = text;
    if (text.starts_with('%') && equals != std::string_view::npos) {
      const std::string_view left = text.substr(0, equals);
      const size_t open = left.find('(');
      node.id = left.substr(0, open);
      if (open != std::string_view::npos && left.ends_with(')')) {
        node.name = left.substr(open + 1, left.size() - open - 2);
      }
      call = text.substr(equals + 3);
    }
    const size_t open = call.find('(');
    if (open == std::string_view::npos) return;
    node.op = call.substr(0, open);
    if (node.op.starts_with(kPrimitive)) node.op.erase(0, kPrimitive.size());
    if (node.op.starts_with('%') || node.op.starts_with("call ")) node.op = "call";
    const size_t end = EndOfBracket(call, open);
    node.inputs = call.substr(open + 1, end == std::string_view::npos ? end : end - open - 1);
    if (end != std::string_view::npos) TakeCallIds(node, call.substr(end));
    out_.nodes.push_back(std::move(node));
  }

  // ... cnode_primal_attrs: {forward_node_name: "Mul_38922", forward_unique_id: "38922"}
  static void TakeCallIds(IrNode& node, std::string_view attributes) {
    node.unique_id = QuotedBehind(attributes, "unique_id: ");
    node.forward_id = QuotedBehind(attributes, "forward_unique_id: ");
    const std::string_view name = QuotedBehind(attributes, "forward_node_name: ");
    node.forward_op = name.substr(0, name.rfind('_'));
  }

  static void TakeDetail(IrNode& node, std::string_view text) {
    if (text.starts_with(kScope) || text.starts_with(kOlderScope)) {
      const size_t open = text.find('(');
      node.scope = text.substr(open + 1, text.size() - open - 2);
    } else if (text.starts_with(": (") && node.types.empty()) {
      node.types = text.substr(2);
    } else if (text.starts_with(kInFile)) {
      TakePlace(node, text.substr(kInFile.size()));
    }
  }

  // Lines come from the outermost to the innermost.
  static void TakePlace(IrNode& node, std::string_view text) {
    auto place = ParsePlace(text);
    if (!place) return;
    if (place->file.find(kPackages) == std::string::npos) {
      node.user_source =
          base::Concat(place->file, ":", std::to_string(place->line), "  ", place->text);
    }
    node.file = std::move(place->file);
    node.line = place->line;
    node.source = std::move(place->text);
  }

  IrFile& out_;
  std::string graph_;  // whose body is read
  bool in_attributes_ = false;
};

bool IsIrName(std::string_view name) {
  return name.ends_with(".ir") || name.find("trace_code_graph_") != std::string_view::npos;
}

}  // namespace

Result<IrFile> ParseIr(std::string_view text, const std::string& path) {
  IrFile out;
  out.path = path;
  out.pass = IrPassName(base::BaseName(path));
  Parser parser(out);
  for (const std::string_view line : base::Split(text, '\n')) parser.Take(line);
  if (out.entry.empty() && out.graphs.empty()) {
    return base::InvalidArgumentError(base::Concat(
        "'", path, "' is no text of MindSpore's IR: it has neither an entry nor a graph"));
  }
  return out;
}

Result<IrFile> ReadIrFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  return ParseIr(text, path);
}

Result<std::vector<std::string>> FindIrFiles(const std::string& path) {
  if (!base::IsDirectory(path)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(path));
  for (const auto& entry : entries) {
    const std::string full = base::JoinPath(path, entry.name);
    if (entry.name == kActors) continue;
    if (base::IsDirectory(full)) {
      SONDE_ASSIGN_OR_RETURN(const auto below, base::ListDirectory(full));
      for (const auto& file : below) {
        if (IsIrName(file.name)) files.push_back(base::JoinPath(full, file.name));
      }
    } else if (IsIrName(entry.name) && !entry.name.ends_with(".pb")) {
      files.push_back(full);
    }
  }
  std::erase_if(files, [](const std::string& file) { return file.ends_with(".pb"); });
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    return base::NotFoundError(base::Concat(
        "no text of MindSpore's IR in '", path,
        "': MS_DEV_SAVE_GRAPHS=1 and MS_DEV_SAVE_GRAPHS_PATH=FOLDER have MindSpore write it"));
  }
  return files;
}

std::string IrPassName(std::string_view file_name) {
  if (file_name.ends_with(".ir")) file_name.remove_suffix(3);
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::Split(file_name, '_')) parts.push_back(part);
  while (!parts.empty() && IsDigits(parts.front())) parts.erase(parts.begin());
  while (!parts.empty() && IsDigits(parts.back())) parts.pop_back();
  return parts.empty() ? std::string(file_name) : base::Join(parts, "_");
}

}  // namespace sonde::precision
