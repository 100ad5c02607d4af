#include "precision/dump/dump_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

constexpr std::string_view kGradientMark = ".parameters_grad";

bool IsPeerName(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last == "src" || last == "dst" || last == "group_src" || last == "group_dst";
}

bool IsProcessGroup(std::string_view type) {
  return type == "torch.ProcessGroup" || type == "mindspore.ProcessGroup";
}

bool IsPointToPoint(std::string_view class_type) { return class_type.ends_with(".P2POp"); }

// The contents of a record, before its kind is known.
struct Fields {
  std::string_view type;
  std::string_view dtype;
  std::string_view shape_raw;
  std::string_view value_raw;
  std::string_view group_ranks_raw;
  bool has_dtype = false;
  bool has_value = false;
};

}  // namespace

// Fills a DumpFile from its text. One use.
class DumpReader {
 public:
  DumpReader(std::string_view text, DumpFile* file)
      : text_(text), json_(text, file->path_), file_(file) {}

  Status Read();

 private:
  using Kind = JsonScanner::Kind;

  void ReadData();
  void ReadApi();
  void ReadGradients();
  void ReadSection(Section section, std::string_view suffix);
  // A record, list, object or plain value at path_; adds its rows.
  void ReadTree(Section section);
  void ReadObject(Section section);
  // The members of an object that is a record after all; the cursor stands behind "type": ....
  void ReadRecord(Section section, const char* from, std::string_view type);
  void ReadField(std::string_view key, Fields* fields, DumpRow* row);
  void FinishRecord(const Fields& fields, DumpRow* row);
  void FinishScalar(const Fields& fields, DumpRow* row);
  void AddNone(Section section, std::string_view raw);
  void AddPlain(Section section);
  void SetAllStats(DumpRow* row, const Value& value);

  Value ReadValue();
  Value ValueOfRaw(std::string_view raw);
  // Texts of the file stay where they are, others (with escapes) are copied.
  std::string_view Keep(std::string_view text) {
    const bool in_file = text.data() >= text_.data() && text.data() <= text_.data() + text_.size();
    return in_file ? text : file_->arena_.Store(text);
  }
  std::string_view InternText(const Value& value);
  // One copy for equal texts: dtypes, shapes.
  std::string_view Intern(std::string_view text);
  std::string_view InternPython(std::string_view raw);
  std::string ReadText();
  DumpRow* AddRow(Section section, LeafKind kind);

  std::string_view text_;
  JsonScanner json_;
  DumpFile* file_;
  std::string path_;  // suffix of the current value: ".input.0"
  std::string_view api_name_;
};

std::string_view DumpReader::Intern(std::string_view text) {
  const auto found = file_->interned_.find(text);
  if (found != file_->interned_.end()) return found->second;
  const std::string_view kept = Keep(text);
  file_->interned_.emplace(std::string(text), kept);
  return kept;
}

std::string_view DumpReader::InternText(const Value& value) {
  return value.kind() == Value::Kind::kText ? Intern(value.text()) : Intern(value.PythonText());
}

std::string_view DumpReader::InternPython(std::string_view raw) {
  const auto found = file_->interned_.find(raw);
  if (found != file_->interned_.end()) return found->second;
  const std::string_view kept = Keep(PythonTextOfJson(raw));
  file_->interned_.emplace(std::string(raw), kept);
  return kept;
}

DumpRow* DumpReader::AddRow(Section section, LeafKind kind) {
  DumpRow& row = file_->rows_.emplace_back();
  row.name = file_->arena_.Concat({api_name_, path_});
  row.section = section;
  row.kind = kind;
  row.api = static_cast<uint32_t>(file_->apis_.size());
  return &row;
}

Value DumpReader::ValueOfRaw(std::string_view raw) {
  if (raw.empty()) return {};
  if (raw[0] == '"') {
    const std::string_view inner = raw.substr(1, raw.size() - 2);
    if (inner.find('\\') == std::string_view::npos) return Value::Text(Keep(inner));
    JsonScanner scanner(raw, "value");
    return Value::Text(Keep(scanner.String()));
  }
  if (raw[0] == '[' || raw[0] == '{') return Value::Text(InternPython(raw));
  const Value value = Value::FromLiteral(raw);
  return value.kind() == Value::Kind::kText ? Value::Text(Keep(raw)) : value;
}

Value DumpReader::ReadValue() {
  switch (json_.Peek()) {
    case Kind::kNumber:
    case Kind::kBool:
    case Kind::kNull:
      return Value::FromLiteral(json_.Literal());
    case Kind::kString:
      return Value::Text(Keep(json_.String()));
    case Kind::kError:
      return {};
    default:
      return ValueOfRaw(json_.SkipValue());
  }
}

std::string DumpReader::ReadText() {
  if (json_.Peek() == Kind::kString) return std::string(json_.String());
  json_.SkipValue();
  return {};
}

void DumpReader::SetAllStats(DumpRow* row, const Value& value) {
  for (Value& stat : row->stats) stat = value;
}

void DumpReader::ReadField(std::string_view key, Fields* fields, DumpRow* row) {
  static constexpr std::array<std::string_view, 4> kNames = {"Max", "Min", "Mean", "Norm"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (key == kNames[i]) {
      row->stats[i] = ReadValue();
      return;
    }
  }
  if (key == "dtype") {
    fields->has_dtype = true;
    fields->dtype = InternText(ReadValue());
  } else if (key == "shape") {
    fields->shape_raw = json_.SkipValue();
  } else if (key == "value") {
    fields->has_value = true;
    fields->value_raw = json_.SkipValue();
  } else if (key == "requires_grad") {
    row->requires_grad = InternText(ReadValue());
  } else if (key == "md5") {
    const Value md5 = ReadValue();
    file_->has_md5_ = true;
    if (!md5.IsNone()) {
      row->md5 = md5.kind() == Value::Kind::kText ? md5.text() : Keep(md5.PythonText());
    }
  } else if (key == "data_name") {
    const Value name = ReadValue();
    if (name.kind() == Value::Kind::kText && name.text() != "-1") row->data_name = name.text();
  } else if (key == "group_ranks") {
    fields->group_ranks_raw = json_.SkipValue();
  } else {
    json_.SkipValue();
  }
}

void DumpReader::FinishScalar(const Fields& fields, DumpRow* row) {
  const Value value = ValueOfRaw(fields.value_raw);
  row->shape = "[]";
  SetAllStats(row, value);
  if (fields.type == "ellipsis") {
    row->kind = LeafKind::kEllipsis;
    row->dtype = Intern(fields.type);
    return;
  }
  switch (value.kind()) {
    case Value::Kind::kAbsent:
    case Value::Kind::kNull:
      row->dtype = "<class 'NoneType'>";
      return;
    case Value::Kind::kBool:
      row->dtype = "<class 'bool'>";
      return;
    case Value::Kind::kInt:
    case Value::Kind::kBigInt:
      row->dtype = "<class 'int'>";
      return;
    case Value::Kind::kFloat:
      row->dtype = "<class 'float'>";
      return;
    case Value::Kind::kText:
      row->dtype = fields.value_raw.starts_with('[')   ? "<class 'list'>"
                   : fields.value_raw.starts_with('{') ? "<class 'dict'>"
                                                       : "<class 'str'>";
      return;
  }
}

void DumpReader::FinishRecord(const Fields& fields, DumpRow* row) {
  if (!row->data_name.empty()) {
    const size_t dot = row->data_name.rfind('.');
    row->name = row->data_name.substr(0, dot);
  }
  if (fields.has_dtype) {
    row->kind = LeafKind::kTensor;
    row->dtype = fields.dtype;
    row->shape = fields.shape_raw.empty() ? std::string_view("[]") : InternPython(fields.shape_raw);
    return;
  }
  if (IsProcessGroup(fields.type)) {
    row->kind = LeafKind::kProcessGroup;
    row->dtype = Intern(fields.type);
    row->shape = "[]";
    row->md5 = InternPython(fields.group_ranks_raw);
    SetAllStats(row, Value::Text(row->md5));
    return;
  }
  if (IsPeerName(row->name)) {
    row->kind = LeafKind::kPeer;
    row->dtype = Intern(fields.type);
    row->shape = "[]";
    const Value value = ValueOfRaw(fields.value_raw);
    row->md5 = Intern(value.PythonText());
    SetAllStats(row, value);
    return;
  }
  if (fields.type == "torch.Size" || fields.type == "slice") {
    row->kind = fields.type == "slice" ? LeafKind::kSlice : LeafKind::kSize;
    row->dtype = Intern(fields.type);
    const std::string_view text = InternPython(fields.value_raw);
    row->md5 = Intern(Crc32Text(text));
    if (row->kind == LeafKind::kSize) {
      row->shape = text;
    } else {
      row->shape = fields.value_raw.starts_with('[') ? "(3,)" : "()";
    }
    return;
  }
  FinishScalar(fields, row);
}

void DumpReader::ReadRecord(Section section, const char* from, std::string_view type) {
  Fields fields;
  fields.type = Intern(type);
  DumpRow* const row = AddRow(section, LeafKind::kScalar);
  for (std::string_view key; json_.NextKey(&key);) ReadField(key, &fields, row);
  if (json_.failed()) return;
  row->raw = json_.RawSince(from);
  FinishRecord(fields, row);
}

void DumpReader::AddNone(Section section, std::string_view raw) {
  AddRow(section, LeafKind::kNone)->raw = raw;
}

void DumpReader::AddPlain(Section section) {
  Fields fields;
  fields.value_raw = json_.SkipValue();
  if (json_.failed()) return;
  DumpRow* const row = AddRow(section, LeafKind::kScalar);
  row->raw = fields.value_raw;
  FinishScalar(fields, row);
}

void DumpReader::ReadObject(Section section) {
  const char* const from = json_.ValueBegin();
  json_.BeginObject();
  const size_t path_size = path_.size();
  bool first = true;
  for (std::string_view key; json_.NextKey(&key); first = false) {
    // "type" with a text comes first in every record that the reference writes.
    if (first && key == "type" && json_.Peek() == Kind::kString) {
      const std::string type(json_.String());
      ReadRecord(section, from, type);
      return;
    }
    if (first && key == "class_type" && json_.Peek() == Kind::kString) {
      if (!IsPointToPoint(json_.String())) continue;
      // The operation stands for its tensor.
      while (json_.NextKey(&key)) {
        if (key == "tensor") {
          ReadTree(section);
        } else {
          json_.SkipValue();
        }
      }
      return;
    }
    path_ += '.';
    path_ += key;
    ReadTree(section);
    path_.resize(path_size);
  }
}

void DumpReader::ReadTree(Section section) {
  switch (json_.Peek()) {
    case Kind::kObject:
      ReadObject(section);
      return;
    case Kind::kArray: {
      json_.BeginArray();
      const size_t path_size = path_.size();
      for (int64_t index = 0; json_.NextElement(); ++index) {
        base::NumberBuffer buffer;
        path_ += '.';
        path_ += base::FormatInt64(index, buffer);
        ReadTree(section);
        path_.resize(path_size);
      }
      return;
    }
    case Kind::kNull:
      AddNone(section, json_.Literal());
      return;
    case Kind::kError:
      return;
    default:
      AddPlain(section);
  }
}

void DumpReader::ReadSection(Section section, std::string_view suffix) {
  path_ = suffix;
  ReadTree(section);
}

void DumpReader::ReadGradients() {
  if (json_.Peek() != Kind::kObject) {
    json_.SkipValue();
    return;
  }
  json_.BeginObject();
  for (std::string_view key; json_.NextKey(&key);) {
    path_ = base::Concat(".", key);
    if (json_.Peek() != Kind::kArray) {
      ReadTree(Section::kParametersGrad);
      continue;
    }
    // The list holds one gradient; its index is no part of the name.
    json_.BeginArray();
    while (json_.NextElement()) ReadTree(Section::kParametersGrad);
  }
}

void DumpReader::ReadApi() {
  const char* const from = json_.ValueBegin();
  const auto first_row = static_cast<uint32_t>(file_->rows_.size());
  const size_t mark = api_name_.rfind(kGradientMark);
  const bool is_gradient =
      mark != std::string_view::npos &&
      api_name_.find_first_not_of("0123456789.", mark + kGradientMark.size()) ==
          std::string_view::npos;
  if (is_gradient) {
    ReadGradients();
  } else if (api_name_.ends_with(".debug")) {
    ReadSection(Section::kDebug, "");
  } else if (json_.Peek() == Kind::kObject) {
    json_.BeginObject();
    for (std::string_view key; json_.NextKey(&key);) {
      if (key == "input_args" || key == "input_kwargs" || key == "input") {
        ReadSection(Section::kInput, ".input");
      } else if (key == "output") {
        ReadSection(Section::kOutput, ".output");
      } else if (key == "parameters") {
        ReadSection(Section::kParameters, ".parameters");
      } else {
        json_.SkipValue();
      }
    }
  } else {
    json_.SkipValue();
  }
  auto& rows = file_->rows_;
  const auto begin = rows.begin() + first_row;
  const auto by_section = [](const DumpRow& a, const DumpRow& b) { return a.section < b.section; };
  if (!std::is_sorted(begin, rows.end(), by_section)) {
    std::stable_sort(begin, rows.end(), by_section);
  }
  file_->apis_.push_back({api_name_, json_.failed() ? std::string_view() : json_.RawSince(from),
                          first_row, static_cast<uint32_t>(rows.size()) - first_row});
}

void DumpReader::ReadData() {
  if (json_.Peek() != Kind::kObject) {
    json_.Fail("\"data\" is not an object");
    return;
  }
  json_.BeginObject();
  for (std::string_view key; json_.NextKey(&key);) {
    api_name_ = Keep(key);
    ReadApi();
  }
  // The entry without an end is incomplete.
  if (json_.failed() && !file_->apis_.empty() && file_->apis_.back().raw.empty()) {
    file_->rows_.resize(file_->apis_.back().first_row);
    file_->apis_.pop_back();
  }
}

Status DumpReader::Read() {
  bool has_data = false;
  if (json_.Peek() != Kind::kObject) json_.Fail("expected an object");
  json_.BeginObject();
  for (std::string_view key; json_.NextKey(&key);) {
    if (key == "data") {
      has_data = true;
      ReadData();
    } else if (key == "task") {
      file_->task_ = ReadText();
    } else if (key == "level") {
      file_->level_ = ReadText();
    } else if (key == "framework") {
      file_->framework_ = ReadText();
    } else if (key == "dump_data_dir") {
      file_->dump_data_dir_ = ReadText();
    } else {
      json_.SkipValue();
    }
  }
  file_->is_cut_off_ = json_.ran_out() && !file_->apis_.empty();
  if (file_->is_cut_off_) return Status::Ok();
  if (!json_.failed()) json_.ExpectEnd();
  SONDE_RETURN_IF_ERROR(json_.status());
  if (!has_data) {
    return base::CorruptDataError(
        base::Concat(file_->path_, ": not a dump: there is no member \"data\""));
  }
  return Status::Ok();
}

Result<std::unique_ptr<DumpFile>> DumpFile::Parse(std::string_view text, std::string_view path) {
  std::unique_ptr<DumpFile> file(new DumpFile());
  file->path_ = path;
  // A row takes about 250 characters in the json of the reference.
  file->rows_.reserve(text.size() / 250);
  DumpReader reader(text, file.get());
  SONDE_RETURN_IF_ERROR(reader.Read());
  return file;
}

Result<std::unique_ptr<DumpFile>> DumpFile::Load(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::Open(path));
  SONDE_ASSIGN_OR_RETURN(auto file, Parse(mapped.text(), path));
  file->file_ = std::move(mapped);
  return file;
}

std::string Crc32Text(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  std::string out(8, '0');
  for (size_t i = 0; i < out.size(); ++i) out[i] = kHex[(crc >> (28 - 4 * i)) & 0xFU];
  return out;
}

std::string ChecksumText(const DumpRow& row) {
  if (row.kind == LeafKind::kNone) return "N/A";
  if (!row.md5.empty()) return std::string(row.md5);
  // A record without value has an empty text, one whose value is null the text "None".
  const Value& value = row.stats[kMax];
  return Crc32Text(value.kind() == Value::Kind::kAbsent ? std::string() : value.PythonText());
}

}  // namespace sonde::precision
