#include "cluster/user_recipes/recipe.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::JoinPath;

constexpr std::string_view kDescription = "recipe.json";
constexpr std::array<std::string_view, 3> kKeys = {"summary", "table", "wants"};

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool IsTableOfAMode(std::string_view name) {
  for (const Mode* mode : Modes()) {
    for (const TableInfo* table : mode->tables) {
      if (base::ToLower(table->reference_name) == base::ToLower(name)) return true;
    }
  }
  return false;
}

Status Refused(const std::string& path, std::string_view why) {
  return base::InvalidArgumentError(Concat(path, ": ", why));
}

Result<std::string> ReadStatement(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  std::string_view statement = base::Trim(text);
  while (statement.ends_with(';'))
    statement = base::Trim(statement.substr(0, statement.size() - 1));
  if (statement.empty()) return Refused(path, "holds no statement");
  return std::string(statement);
}

Status ReadDescription(const std::string& path, UserRecipe& recipe) {
  SONDE_ASSIGN_OR_RETURN(const auto document, base::JsonDocument::ReadFile(path));
  if (!document.root().IsObject()) return Refused(path, "is no JSON object");
  for (const auto& [key, value] : document.root().Members()) {
    const bool is_known = std::ranges::find(kKeys, key) != kKeys.end();
    if (!is_known) {
      return Refused(path, Concat("has '", key, "', which is none of summary, table, wants"));
    }
    if (!value.IsString()) return Refused(path, Concat("'", key, "' is no text"));
  }
  SONDE_ASSIGN_OR_RETURN(recipe.summary, document.root().GetString("summary", ""));
  SONDE_ASSIGN_OR_RETURN(recipe.table, document.root().GetString("table", recipe.name));
  SONDE_ASSIGN_OR_RETURN(recipe.wants,
                         document.root().GetString("wants", "rows of its statement rank.sql"));
  if (recipe.summary.empty()) return Refused(path, "has no 'summary', a line for --help");
  if (!IsName(recipe.table)) {
    return Refused(path, "'table' is letters, digits and underscores");
  }
  if (!IsTableOfAMode(recipe.table)) return {};
  return Refused(path, Concat("'table': a mode of Sonde has a table ", recipe.table));
}

Result<UserRecipe> ReadRecipe(const std::string& folder) {
  UserRecipe recipe;
  recipe.name = base::BaseName(folder);
  recipe.folder = folder;
  if (!IsName(recipe.name)) {
    return Refused(folder, "the name of a recipe is letters, digits and underscores");
  }
  if (FindMode(recipe.name) != nullptr) return Refused(folder, "Sonde has a mode of that name");
  SONDE_RETURN_IF_ERROR(ReadDescription(JoinPath(folder, kDescription), recipe));
  SONDE_ASSIGN_OR_RETURN(recipe.rank_sql, ReadStatement(JoinPath(folder, "rank.sql")));
  const std::pair<std::string_view, std::string*> others[] = {{"reduce.sql", &recipe.reduce_sql},
                                                              {"say.sql", &recipe.say_sql}};
  for (const auto& [name, statement] : others) {
    const std::string path = JoinPath(folder, name);
    if (!base::PathExists(path)) continue;
    SONDE_ASSIGN_OR_RETURN(*statement, ReadStatement(path));
  }
  return recipe;
}

}  // namespace

const UserRecipe* UserRecipes::Find(std::string_view name) const {
  for (const UserRecipe& recipe : recipes) {
    if (recipe.name == name) return &recipe;
  }
  return nullptr;
}

Result<UserRecipes> FindUserRecipes(const std::string& folder) {
  if (!base::IsDirectory(folder)) {
    return base::NotFoundError(Concat("'", folder,
                                      "' is no folder: --recipe-dir holds a folder "
                                      "for each recipe"));
  }
  UserRecipes found;
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  for (const base::DirectoryEntry& entry : entries) {
    const std::string path = JoinPath(folder, entry.name);
    if (entry.name.starts_with('.') || !base::IsDirectory(path)) continue;
    Result<UserRecipe> recipe = ReadRecipe(path);
    if (recipe.ok()) {
      found.recipes.push_back(*std::move(recipe));
    } else {
      found.failures.push_back(recipe.status());
    }
  }
  if (found.recipes.empty() && found.failures.empty()) {
    return base::NotFoundError(
        Concat("'", folder, "' holds no recipe: a folder with recipe.json and rank.sql"));
  }
  return found;
}

UserTable::UserTable(std::string name, std::string meaning)
    : name_(std::move(name)),
      meaning_(std::move(meaning)),
      info_{.result = {.name = name_, .meaning = meaning_, .columns = {}},
            .reference_name = name_,
            .file = name_,
            .names = {}} {}

void UserTable::SetColumns(const std::vector<std::string>& names,
                           const std::vector<store::ResultType>& types) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = texts_.emplace_back(names[i]);
    // As the text form knows nanoseconds.
    std::string heading =
        name.ends_with("_ns") ? Concat(name.substr(0, name.size() - 3), "Ns") : name;
    const std::string& shown = texts_.emplace_back(std::move(heading));
    const bool is_text = types[i] == store::ResultType::kText;
    columns_.push_back({.name = name,
                        .type = types[i],
                        .unit = shown.ends_with("Ns") ? "ns" : "",
                        .role = is_text || i == 0 ? store::kLabel : store::kNeither,
                        .meaning = ""});
    names_.push_back({.db = shown, .text = ""});
  }
  info_.result.columns = columns_;
  info_.names = names_;
}

}  // namespace sonde::cluster
