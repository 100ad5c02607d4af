#include "precision/graph/node_json.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

constexpr std::array<std::string_view, kStatisticCount> kStatNames = {"Max", "Min", "Mean", "Norm"};

void AppendUnit(uint32_t unit, std::string* out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out->append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) {
    out->push_back(kHex[(unit >> static_cast<unsigned>(shift)) & 0xFU]);
  }
}

// The code point at `*at`, which moves behind it; bytes that are no UTF-8 become U+FFFD.
uint32_t TakeCodePoint(std::string_view text, size_t* at) {
  const auto lead = static_cast<uint8_t>(text[(*at)++]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : -1;
  if (more < 0 || lead > 0xF4 || *at + static_cast<size_t>(more) > text.size()) return 0xFFFD;
  uint32_t code = lead & (0x3FU >> static_cast<unsigned>(more));
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<uint8_t>(text[*at + static_cast<size_t>(i)]);
    if ((next & 0xC0U) != 0x80U) return 0xFFFD;
    code = (code << 6U) | (next & 0x3FU);
  }
  *at += static_cast<size_t>(more);
  return code;
}

// A text of the dump as the database shows it: None is null, quotes are left out, numbers are cut.
std::string ShownText(std::string_view text) {
  std::string out(text);
  if (out.find('\'') != std::string::npos) out = base::ReplaceAll(out, "'", "");
  if (out.find("None") != std::string::npos) out = base::ReplaceAll(out, "None", "null");
  ShortenDecimals(&out);
  return out;
}

// Other values: as Python prints them.
std::string ShownValue(std::string_view python_text) {
  return python_text == "None" ? "null" : std::string(python_text);
}

std::string ShownJson(std::string_view raw) {
  const std::string text = PythonTextOfJson(raw);
  return raw.starts_with('"') ? ShownText(text) : ShownValue(text);
}

std::string ShownStatistic(const Value& value) {
  return value.kind() == Value::Kind::kText ? ShownText(value.text())
                                            : ShownValue(value.PythonText());
}

class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}

  void Begin() {
    out_->push_back('{');
    first_ = true;
  }
  void End() { out_->push_back('}'); }
  void Add(std::string_view key, std::string_view text) {
    if (!first_) out_->append(", ");
    first_ = false;
    AppendAsciiJson(key, out_);
    out_->append(": ");
    AppendAsciiJson(text, out_);
  }

 private:
  std::string* out_;
  bool first_ = true;
};

// Which fields the record has of those that the reference adds where they are missing.
struct Present {
  bool data_name = false;
  bool requires_grad = false;
  bool md5 = false;
  std::array<bool, kStatisticCount> stats = {};

  void Note(std::string_view key) {
    data_name = data_name || key == "data_name";
    requires_grad = requires_grad || key == "requires_grad";
    for (size_t i = 0; i < kStatisticCount; ++i) stats[i] = stats[i] || key == kStatNames[i];
  }
};

// The record's own fields in their order, then those that the reference adds.
void AddDumpFields(const DumpRow& row, bool with_checksum, FieldWriter* fields) {
  Present present;
  const bool group = row.kind == LeafKind::kProcessGroup;
  if (row.raw.starts_with('{')) {
    JsonScanner json(row.raw, "record");
    json.BeginObject();
    for (std::string_view key; json.NextKey(&key);) {
      const std::string_view name = key;  // no other string is read before it is written
      const std::string_view raw = json.SkipValue();
      present.Note(name);
      if (group && name != "type" && name != "group_ranks" && name != "group_id") continue;
      if (name == "md5") {
        if (with_checksum) fields->Add(name, ShownText(ChecksumText(row)));
        present.md5 = true;
        continue;
      }
      const std::string text = ShownJson(raw);
      fields->Add(name, name == "data_name" && (text == "null" || text.empty()) ? "-1" : text);
    }
  }
  if (!present.data_name || group) fields->Add("data_name", "-1");
  if (group) return;
  if (!present.requires_grad) fields->Add("requires_grad", "null");
  for (size_t i = 0; i < kStatisticCount; ++i) {
    if (!present.stats[i]) fields->Add(kStatNames[i], ShownStatistic(row.stats[i]));
  }
  if (row.kind != LeafKind::kTensor) {
    fields->Add("dtype", ShownText(row.dtype));
    fields->Add("shape", ShownText(row.shape));
  }
  if (with_checksum && !present.md5) fields->Add("md5", ShownText(ChecksumText(row)));
}

void AddMetrics(const NodeResults& results, size_t index, FieldWriter* fields) {
  static constexpr std::array<std::string_view, kMaxCells> kStatisticKeys = {
      "Max diff",       "Min diff",       "Mean diff",       "L2norm diff",
      "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"};
  static constexpr std::array<std::string_view, kTensorMetricCount> kTensorKeys = {
      "Cosine",
      "EucDist",
      "MaxAbsErr",
      "MaxRelativeErr",
      "One Thousandth Err Ratio",
      "Five Thousandths Err Ratio"};
  const ComparedRow& row = results.rows[index];
  const bool unmatched = IsAbsent(row);
  if (results.mode == Mode::kStatistics) {
    for (size_t i = 0; i < kMaxCells; ++i) {
      fields->Add(kStatisticKeys[i], unmatched ? " " : StatisticText(row, i));
    }
  } else if (results.mode == Mode::kTensor) {
    for (size_t i = 0; i < kTensorMetricCount; ++i) {
      std::string text;
      row.cells[i].AppendTo(&text);
      fields->Add(kTensorKeys[i], base::Trim(text));
    }
  }
  const bool grad = !unmatched && row.target->requires_grad == row.golden->requires_grad;
  if (results.mode == Mode::kMd5) fields->Add("Result", VerdictText(row.verdict));
  fields->Add("Requires_grad Consistent", grad ? "True" : "False");
  if (results.mode != Mode::kMd5) fields->Add("Result", VerdictText(row.verdict));
  fields->Add("Err_message", MessageList(row));
}

// In a batch of point-to-point operations a tensor's record lies inside that of its operation.
bool IsTensorOfOperation(const DumpApi& api, const DumpRow& row) {
  if (api.name.find("batch_isend_irecv") == std::string_view::npos) return false;
  const std::string_view before =
      api.raw.substr(0, static_cast<size_t>(row.raw.data() - api.raw.data()));
  const size_t colon = before.rfind(':');
  return colon != std::string_view::npos &&
         base::Trim(before.substr(0, colon)).ends_with("\"tensor\"") &&
         base::Trim(before.substr(colon + 1)).empty();
}

}  // namespace

void AppendAsciiJson(std::string_view text, std::string* out) {
  const auto plain = [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 && static_cast<uint8_t>(c) < 0x80 && c != '"' &&
           c != '\\';
  };
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && plain(text[end])) ++end;
    out->append(text.substr(i, end - i));
    i = end;
    if (i == text.size()) break;
    const char c = text[i];
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80) {
      const uint32_t code = TakeCodePoint(text, &i);
      if (code >= 0x10000) {
        AppendUnit(0xD800U + ((code - 0x10000U) >> 10U), out);
        AppendUnit(0xDC00U + ((code - 0x10000U) & 0x3FFU), out);
      } else {
        AppendUnit(code, out);
      }
      continue;
    }
    ++i;
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else {
      AppendUnit(byte, out);
    }
  }
  out->push_back('"');
}

std::string JsonList(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ", ";
    AppendAsciiJson(texts[i], &out);
  }
  return out + "]";
}

std::string NodeData(const DumpFile& dump, int32_t api, const NodeDataOptions& options) {
  std::string out = "{";
  if (api == kNoNode) return out + "}";
  const DumpApi& call = dump.apis()[static_cast<size_t>(api)];
  for (uint32_t r = call.first_row; r < call.first_row + call.row_count; ++r) {
    const DumpRow& row = dump.rows()[r];
    if ((row.section == Section::kOutput) != options.output) continue;
    if (out.size() > 1) out += ", ";
    AppendAsciiJson(row.name, &out);
    out += ": ";
    FieldWriter fields(&out);
    fields.Begin();
    // Without a maximum there is nothing to show.
    if (row.kind != LeafKind::kProcessGroup && row.stats[kMax].IsNone()) {
      fields.Add("value", "null");
    } else {
      AddDumpFields(row, options.checksums, &fields);
      if (IsTensorOfOperation(call, row)) fields.Add("class_type", "torch.distributed.P2POp");
      if (options.results != nullptr) AddMetrics(*options.results, r, &fields);
    }
    fields.End();
  }
  return out + "}";
}

}  // namespace sonde::precision
