// Results and findings of analyses, as messages. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "recipes/finding/finding.h"
#include "serve/messages.h"
#include "store/result_info.h"

namespace sonde::serve {

std::vector<ResultColumnMessage> ColumnsOf(std::span<const store::ResultColumnInfo> columns);

// `trace`: that it is about, -1 several.
FindingMessage MessageOf(const recipes::Finding& finding, int32_t trace,
                         recipes::Language language);

// Of a request: "zh", else English.
recipes::Language LanguageOf(std::string_view name);

}  // namespace sonde::serve
