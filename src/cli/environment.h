// Environments of the processes that we start.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sonde::cli {

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

// Stands for getenv: null where the variable is unset.
using VariableGetter = std::function<const char*(const char* name)>;

// "NAME=value" texts of our own environment, with `variables` in place of their namesakes.
std::vector<std::string> MergedEnvironment(const EnvironmentVariables& variables);

// Pointers to the texts with a null at the end, as exec wants them; valid as long as the texts are.
std::vector<char*> ExecPointers(std::vector<std::string>& texts);

}  // namespace sonde::cli
