#include "advisor/frame/rule.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/host/yaml_file.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

using base::Concat;
using base::YamlNode;

constexpr std::array<std::string_view, kSections> kSectionNames = {
    "overall",     "comparison", "memory",   "communication",
    "computation", "dataloader", "schedule", "serving"};

Status Wrong(std::string_view source, std::string_view what) {
  return base::InvalidArgumentError(Concat("rule ", source, ": ", what));
}

class RuleReader {
 public:
  RuleReader(const YamlNode& root, std::string_view source) : root_(root), source_(source) {}

  Result<Rule> Run() {
    if (!root_.IsMap()) return Wrong(source_, "it is no map of names and values");
    for (const YamlNode::Member& member : root_.members) {
      SONDE_RETURN_IF_ERROR(Take(member.name, member.value));
    }
    return Check();
  }

 private:
  Status Take(const std::string& name, const YamlNode& value) {
    for (const auto& [key, text] :
         {std::pair("title", &rule_.title), std::pair("rank_title", &rule_.rank_title),
          std::pair("sheet", &rule_.sheet), std::pair("rank_sheet", &rule_.rank_sheet),
          std::pair("block", &rule_.block), std::pair("description", &rule_.description),
          std::pair("gain", &rule_.gain)}) {
      if (name == key) return TakeText(name, value, *text);
    }
    for (const auto& [key, plain] :
         {std::pair("rule", &rule_.name), std::pair("with", &rule_.with),
          std::pair("rows", &rule_.rows), std::pair("facts", &rule_.facts),
          std::pair("function", &rule_.function), std::pair("statement", &rule_.statement),
          std::pair("priority", &rule_.priority)}) {
      if (name == key) return TakePlain(name, value, *plain);
    }
    if (name == "section") return TakeSection(name, value, rule_.section);
    if (name == "dimension") return TakeSection(name, value, rule_.dimension);
    if (name == "needs") return TakeNames(name, value, rule_.needs);
    if (name == "uses") return TakeNames(name, value, rule_.uses);
    if (name == "limits") return TakeLimits(value);
    if (name == "texts") return TakeTexts(value);
    if (name == "lists") return TakeLists(value);
    if (name == "suggestions") return TakeSuggestions(value);
    if (name == "more") return TakeMore(value);
    return TakeNumbers(name, value);
  }

  Status TakeNumbers(const std::string& name, const YamlNode& value) {
    std::string text;
    SONDE_RETURN_IF_ERROR(TakePlain(name, value, text));
    if (name == "order") {
      const auto number = base::ParseInt64(text);
      if (!number) return Wrong(source_, Concat("'order' is a whole number, not '", text, "'"));
      rule_.order = *number;
      return {};
    }
    if (name == "confidence") {
      const auto number = base::ParseDouble(text);
      if (!number || !(*number >= 0 && *number <= 1)) {
        return Wrong(source_, Concat("'confidence' is a number from 0 to 1, not '", text, "'"));
      }
      rule_.confidence = *number;
      return {};
    }
    if (name == "reference" || name == "speaks_without_rows" || name == "scope") {
      const bool is_scope = name == "scope";
      const std::string_view yes = is_scope ? "job" : "true";
      const std::string_view no = is_scope ? "trace" : "false";
      if (text != yes && text != no) {
        return Wrong(source_, Concat("'", name, "' is ", yes, " or ", no, ", not '", text, "'"));
      }
      if (is_scope) {
        rule_.scope = text == yes ? Scope::kJob : Scope::kTrace;
      } else {
        (name == "reference" ? rule_.is_reference : rule_.speaks_without_rows) = text == yes;
      }
      return {};
    }
    return Wrong(source_, Concat("'", name, "' is no part of a rule"));
  }

  Status TakePlain(std::string_view name, const YamlNode& value, std::string& plain) {
    if (!value.IsText()) return Wrong(source_, Concat("'", name, "' is no text"));
    plain = value.text;
    return {};
  }

  // A text for both languages, or {en: .., cn: ..}.
  Status TakeText(std::string_view name, const YamlNode& value, Text& text) {
    if (value.IsText()) {
      text = {value.text, value.text};
      return {};
    }
    const YamlNode* english = value.Find("en");
    const YamlNode* chinese = value.Find("cn");
    if (english == nullptr || chinese == nullptr || !english->IsText() || !chinese->IsText()) {
      return Wrong(source_, Concat("'", name, "' needs a text, or one for en and one for cn"));
    }
    text = {english->text, chinese->text};
    return {};
  }

  Status TakeSection(std::string_view name, const YamlNode& value, Section& section) {
    const auto* found = std::find(kSectionNames.begin(), kSectionNames.end(), value.text);
    if (found == kSectionNames.end()) {
      return Wrong(source_, Concat("'", name, "' is one of ", base::Join(AllSections(), ", "),
                                   ", not '", value.text, "'"));
    }
    section = static_cast<Section>(found - kSectionNames.begin());
    return {};
  }

  static std::vector<std::string> AllSections() {
    return {kSectionNames.begin(), kSectionNames.end()};
  }

  Status TakeNames(std::string_view name, const YamlNode& value, std::vector<std::string>& names) {
    if (!value.IsList()) return Wrong(source_, Concat("'", name, "' is a list"));
    for (const YamlNode& item : value.items) names.push_back(item.text);
    return {};
  }

  Status TakeLimits(const YamlNode& value) {
    if (!value.IsMap()) return Wrong(source_, "'limits' is a map");
    for (const auto& [name, parts] : value.members) {
      RuleLimit& limit = rule_.limits.emplace_back();
      limit.name = name;
      for (const auto& [key, to] :
           {std::pair("value", &limit.value), std::pair("unit", &limit.unit),
            std::pair("source", &limit.source)}) {
        const YamlNode* part = parts.Find(key);
        if (part != nullptr) *to = part->text;
      }
      if (!base::ParseDouble(limit.value)) {
        return Wrong(source_, Concat("limit '", name, "' needs a number as its value"));
      }
      if (limit.source.empty()) return Wrong(source_, Concat("limit '", name, "' has no source"));
    }
    return {};
  }

  Status TakeTexts(const YamlNode& value) {
    for (const auto& [name, text] : value.members) {
      SONDE_RETURN_IF_ERROR(TakeText(name, text, rule_.texts.emplace_back(name, Text()).second));
    }
    return {};
  }

  // Rows of texts, for VALUES.
  Status TakeLists(const YamlNode& value) {
    for (const auto& [name, rows] : value.members) {
      std::vector<std::string> tuples;
      for (const YamlNode& row : rows.items) {
        std::vector<std::string> cells;
        for (const YamlNode& cell : row.items) {
          cells.push_back(Concat("'", base::ReplaceAll(cell.text, "'", "''"), "'"));
        }
        if (cells.empty()) return Wrong(source_, Concat("list '", name, "' is of lists of texts"));
        tuples.push_back(Concat("(", base::Join(cells, ", "), ")"));
      }
      rule_.lists.emplace_back(name, base::Join(tuples, ", "));
    }
    return {};
  }

  Status TakeMore(const YamlNode& value) {
    for (const YamlNode& item : value.items) {
      MoreRows& more = rule_.more.emplace_back();
      const YamlNode* sheet = item.Find("sheet");
      const YamlNode* rows = item.Find("rows");
      if (sheet == nullptr || rows == nullptr) {
        return Wrong(source_, "'more' is a list of 'sheet' and 'rows'");
      }
      SONDE_RETURN_IF_ERROR(TakeText("sheet", *sheet, more.sheet));
      SONDE_RETURN_IF_ERROR(TakePlain("rows", *rows, more.rows));
    }
    return {};
  }

  Status TakeSuggestions(const YamlNode& value) {
    for (const YamlNode& item : value.items) {
      Suggestion& suggestion = rule_.suggestions.emplace_back();
      SONDE_RETURN_IF_ERROR(TakeText("suggestions", item, suggestion.text));
      const YamlNode* fact = item.Find("if");
      if (fact != nullptr) suggestion.fact = fact->text;
    }
    return {};
  }

  Result<Rule> Check() {
    if (rule_.name.empty()) return Wrong(source_, "it has no name ('rule')");
    if (rule_.title.english.empty()) return Wrong(source_, "it has no title");
    if (rule_.description.english.empty()) return Wrong(source_, "it has no description");
    if (rule_.rows.empty() == rule_.function.empty()) {
      return Wrong(source_, "it needs 'rows', the statement that finds");
    }
    if (rule_.dimension == Section::kOverall) rule_.dimension = rule_.section;
    return std::move(rule_);
  }

  const YamlNode& root_;
  std::string_view source_;
  Rule rule_;
};

Status AddTables(const YamlNode& list, std::string_view source, std::vector<SharedTable>& tables) {
  for (const YamlNode& item : list.items) {
    SharedTable table;
    const YamlNode* name = item.Find("name");
    const YamlNode* sql = item.Find("sql");
    if (name == nullptr || sql == nullptr) return Wrong(source, "a table needs 'name' and 'sql'");
    table.name = name->text;
    table.sql = sql->text;
    const YamlNode* needs = item.Find("needs");
    for (size_t i = 0; needs != nullptr && i < needs->items.size(); ++i) {
      table.needs.push_back(needs->items[i].text);
    }
    tables.push_back(std::move(table));
  }
  return {};
}

}  // namespace

std::string_view NameOf(Section section) { return kSectionNames[static_cast<size_t>(section)]; }

Result<Rule> ParseRule(const std::string& text, std::string_view source) {
  const auto root = base::ParseYaml(text, source);
  if (!root.ok()) return Wrong(source, root.status().message());
  return RuleReader(*root, source).Run();
}

Status AddFile(const std::string& text, std::string_view source, RuleBook& book) {
  const auto root = base::ParseYaml(text, source);
  if (!root.ok()) return Wrong(source, root.status().message());
  const YamlNode* tables = root->Find("tables");
  if (tables != nullptr) return AddTables(*tables, source, book.tables);
  SONDE_ASSIGN_OR_RETURN(Rule rule, RuleReader(*root, source).Run());
  const auto same = std::find_if(book.rules.begin(), book.rules.end(),
                                 [&](const Rule& other) { return other.name == rule.name; });
  if (same != book.rules.end()) {
    *same = std::move(rule);
  } else {
    book.rules.push_back(std::move(rule));
  }
  return {};
}

}  // namespace sonde::advisor
