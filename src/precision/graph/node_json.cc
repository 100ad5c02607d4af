#include "precision/graph/node_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

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

// Which bytes a JSON string of ASCII characters holds as they are.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain = {};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool IsPlain(char c) { return kPlain[static_cast<uint8_t>(c)]; }

// How many bytes at the beginning are plain; looks at eight at a time.
size_t PlainPrefix(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = kOnes * 0x80;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    // Differences borrow from the highest bit where a byte is below 0x20, or zero behind the
    // exclusive or; bytes from 0x80 on have it anyway.
    const uint64_t quote = (bytes ^ (kOnes * '"')) - kOnes;
    const uint64_t slash = (bytes ^ (kOnes * '\\')) - kOnes;
    if ((bytes | (bytes - kOnes * 0x20) | quote | slash) & kHighs) break;
  }
  while (at < text.size() && IsPlain(text[at])) ++at;
  return at;
}

// A text of the dump as the database shows it: None is null, quotes are left out, numbers are cut.
std::string ShownText(std::string_view text) {
  std::string out(text);
  if (out.find('\'') != std::string::npos) out = base::ReplaceAll(out, "'", "");
  if (out.find("None") != std::string::npos) out = base::ReplaceAll(out, "None", "null");
  ShortenDecimals(&out);
  return out;
}

// Most texts are names of types: nothing in them is changed or escaped.
bool IsShownAsItIs(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsPlain(c) && c != '\'' && c != 'N'; });
}

// Lists of whole numbers, as Python writes them.
bool IsShapeText(std::string_view json) {
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool digit = c >= '0' && c <= '9';
    const bool blank = c == ' ' && json[i - 1] == ',' && i + 1 < json.size() && json[i + 1] != ' ';
    const bool comma = c == ',' && i + 1 < json.size() && json[i + 1] == ' ';
    if (!digit && !blank && !comma && c != '[' && c != ']') return false;
  }
  return true;
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
    AddKey(key);
    AppendAsciiJson(text, out_);
  }
  void AddText(std::string_view key, std::string_view text) {
    if (IsShownAsItIs(text)) {
      AddPlain(key, text);
    } else {
      Add(key, ShownText(text));
    }
  }
  // Numbers and other values as Python prints them, but for None.
  void AddValue(std::string_view key, const Value& value) {
    if (value.kind() == Value::Kind::kText) return AddText(key, value.text());
    if (value.IsNone()) return AddPlain(key, "null");
    AddKey(key);
    out_->push_back('"');
    value.AppendPython(out_);
    out_->push_back('"');
  }
  // A value of the dump.
  void AddJson(std::string_view key, std::string_view raw) {
    if (raw.starts_with('"')) {
      const std::string_view inner = raw.substr(1, raw.size() - 2);
      if (IsShownAsItIs(inner)) return AddPlain(key, inner);
      return Add(key, ShownText(PythonTextOfJson(raw)));
    }
    if (raw.starts_with('[') && IsShapeText(raw)) return AddPlain(key, raw);
    if (raw.starts_with('[') || raw.starts_with('{')) return Add(key, PythonTextOfJson(raw));
    const Value value = Value::FromLiteral(raw);
    if (value.kind() == Value::Kind::kText) return Add(key, raw);
    AddValue(key, value);
  }
  // `text` needs no escapes.
  void AddPlain(std::string_view key, std::string_view text) {
    AddKey(key);
    out_->push_back('"');
    out_->append(text);
    out_->push_back('"');
  }
  // `opening`: key, colon and opening quote; the text follows, then EndText().
  std::string* BeginText(std::string_view opening) {
    if (!first_) out_->append(", ");
    first_ = false;
    out_->append(opening);
    return out_;
  }
  void EndText() { out_->push_back('"'); }

 private:
  void AddKey(std::string_view key) {
    if (!first_) out_->append(", ");
    first_ = false;
    AppendAsciiJson(key, out_);
    out_->append(": ");
  }

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

// The statistic that a field of a tensor's record holds; null for other fields, and for statistics
// that are no numbers.
const Value* NumberOf(const DumpRow& row, std::string_view key) {
  if (row.kind != LeafKind::kTensor) return nullptr;
  for (size_t i = 0; i < kStatisticCount; ++i) {
    if (key == kStatNames[i]) return row.stats[i].IsNumber() ? &row.stats[i] : nullptr;
  }
  return nullptr;
}

// The record's own fields in their order, then those that the reference adds.
void AddDumpFields(const DumpRow& row, bool with_checksum, FieldWriter* fields) {
  Present present;
  const bool group = row.kind == LeafKind::kProcessGroup;
  if (row.raw.starts_with('{')) {
    JsonScanner json(row.raw, "record");
    json.BeginObject();
    for (std::string_view name; json.NextKey(&name);) {
      const std::string_view raw = json.SkipValue();  // keeps the name, also one with escapes
      present.Note(name);
      if (group && name != "type" && name != "group_ranks" && name != "group_id") continue;
      if (name == "md5") {
        if (with_checksum) fields->AddText(name, ChecksumText(row));
        present.md5 = true;
      } else if (name == "data_name" &&
                 (raw == "null" || raw == "\"\"" || raw == "\"None\"" || raw == "\"null\"")) {
        fields->AddPlain(name, "-1");
      } else if (const Value* number = NumberOf(row, name)) {
        fields->AddValue(name, *number);  // read already
      } else {
        fields->AddJson(name, raw);
      }
    }
  }
  if (!present.data_name || group) fields->AddPlain("data_name", "-1");
  if (group) return;
  if (!present.requires_grad) fields->AddPlain("requires_grad", "null");
  for (size_t i = 0; i < kStatisticCount; ++i) {
    if (!present.stats[i]) fields->AddValue(kStatNames[i], row.stats[i]);
  }
  if (row.kind != LeafKind::kTensor) {
    fields->AddText("dtype", row.dtype);
    fields->AddText("shape", row.shape);
  }
  if (with_checksum && !present.md5) fields->AddText("md5", ChecksumText(row));
}

void AddMetrics(const NodeResults& results, size_t index, FieldWriter* fields) {
  static constexpr std::array<std::string_view, kMaxCells> kStatisticOpenings = {
      R"("Max diff": ")",        R"("Min diff": ")",       R"("Mean diff": ")",
      R"("L2norm diff": ")",     R"("MaxRelativeErr": ")", R"("MinRelativeErr": ")",
      R"("MeanRelativeErr": ")", R"("NormRelativeErr": ")"};
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
      std::string* const out = fields->BeginText(kStatisticOpenings[i]);
      if (unmatched) {
        out->push_back(' ');
      } else {
        AppendStatisticCell(row, i, out);
      }
      fields->EndText();
    }
  } else if (results.mode == Mode::kTensor) {
    for (size_t i = 0; i < kTensorMetricCount; ++i) {
      std::string text;
      row.cells[i].AppendTo(&text);
      fields->Add(kTensorKeys[i], base::Trim(text));
    }
  }
  const bool grad = !unmatched && row.target->requires_grad == row.golden->requires_grad;
  if (results.mode == Mode::kMd5) fields->AddPlain("Result", VerdictText(row.verdict));
  fields->AddPlain("Requires_grad Consistent", grad ? "True" : "False");
  if (results.mode != Mode::kMd5) fields->AddPlain("Result", VerdictText(row.verdict));
  if (row.messages == 0) {
    fields->AddPlain("Err_message", "[]");
  } else {
    fields->Add("Err_message", MessageList(row));
  }
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
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    const size_t plain = PlainPrefix(text.substr(i));
    out->append(text.substr(i, plain));
    i += plain;
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

void AppendNodeData(const DumpFile& dump, int32_t api, const NodeDataOptions& options,
                    std::string* out) {
  out->push_back('{');
  if (api != kNoNode) {
    const DumpApi& call = dump.apis()[static_cast<size_t>(api)];
    bool first = true;
    for (uint32_t r = call.first_row; r < call.first_row + call.row_count; ++r) {
      const DumpRow& row = dump.rows()[r];
      if ((row.section == Section::kOutput) != options.output) continue;
      if (!first) out->append(", ");
      first = false;
      AppendAsciiJson(row.name, out);
      out->append(": ");
      FieldWriter fields(out);
      fields.Begin();
      // Without a maximum there is nothing to show.
      if (row.kind != LeafKind::kProcessGroup && row.stats[kMax].IsNone()) {
        fields.AddPlain("value", "null");
      } else {
        AddDumpFields(row, options.checksums, &fields);
        if (IsTensorOfOperation(call, row)) fields.Add("class_type", "torch.distributed.P2POp");
        // A process group shows who is in it, nothing else.
        const bool group = row.kind == LeafKind::kProcessGroup;
        if (options.results != nullptr && !group) AddMetrics(*options.results, r, &fields);
      }
      fields.End();
    }
  }
  out->push_back('}');
}

}  // namespace sonde::precision
