#include "importers/capture/arguments.h"

#include "base/bytes.h"
#include "base/strings.h"
#include "importers/capture/issues.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using base::ByteReader;
using capture::ArgType;
using capture::InputTag;

// C++ names of torch's ScalarType codes, as torch's own profiler prints them.
constexpr std::string_view kScalarTypes[] = {"unsigned char",
                                             "signed char",
                                             "short",
                                             "int",
                                             "long int",
                                             "c10::Half",
                                             "float",
                                             "double",
                                             "c10::complex<c10::Half>",
                                             "c10::complex<float>",
                                             "c10::complex<double>",
                                             "bool",
                                             "c10::qint8",
                                             "c10::quint8",
                                             "c10::qint32",
                                             "c10::BFloat16",
                                             "c10::quint4x2",
                                             "c10::quint2x4",
                                             "c10::bits1x8",
                                             "c10::bits2x4",
                                             "c10::bits4x2",
                                             "c10::bits8",
                                             "c10::bits16",
                                             "c10::Float8_e5m2",
                                             "c10::Float8_e4m3fn",
                                             "c10::Float8_e5m2fnuz",
                                             "c10::Float8_e4m3fnuz",
                                             "unsigned short",
                                             "unsigned int",
                                             "unsigned long"};

// Reads inputs and writes the three texts side by side.
class InputDecoder {
 public:
  InputDecoder(std::span<const std::byte> payload, InputTexts& texts)
      : reader_(payload), texts_(texts) {}

  bool Run() {
    const auto count = reader_.Read<uint16_t>();
    texts_.dims = "[";
    for (uint32_t i = 0; i < count && reader_.ok(); ++i) {
      if (i > 0) {
        texts_.shapes += ';';
        texts_.types += ';';
        texts_.dims += ',';
      }
      Input();
    }
    texts_.dims += ']';
    return reader_.ok() && !unknown_;
  }

 private:
  void Input() {
    switch (static_cast<InputTag>(reader_.Read<uint8_t>())) {
      case InputTag::kNone:
        Plain("None");
        break;
      case InputTag::kTensor: {
        texts_.types += ScalarTypeName(reader_.Read<uint8_t>());
        const std::string sizes = Sizes();
        texts_.shapes += sizes;
        texts_.dims += base::Concat("[", sizes, "]");
        break;
      }
      case InputTag::kTensorList:
        TensorList();
        break;
      case InputTag::kInt:
      case InputTag::kDouble:
      case InputTag::kBool:
        Plain("Scalar");
        break;
      case InputTag::kScalarList:
        Plain("ScalarList");
        break;
      case InputTag::kString:
      case InputTag::kOther:
        Plain("");
        break;
      case InputTag::kOpaqueTensor:
        Plain(ScalarTypeName(reader_.Read<uint8_t>()));
        break;
      default:
        unknown_ = true;
        break;
    }
  }

  void Plain(std::string_view type) {
    texts_.types += type;
    texts_.dims += "[]";
  }

  std::string Sizes() {
    const auto dimensions = reader_.Read<uint8_t>();
    std::string text;
    for (uint32_t i = 0; i < dimensions && reader_.ok(); ++i) {
      if (i > 0) text += ',';
      base::NumberBuffer buffer;
      text += base::FormatInt64(reader_.Read<int64_t>(), buffer);
    }
    return text;
  }

  void TensorList() {
    const auto count = reader_.Read<uint16_t>();
    texts_.types += "TensorList";
    texts_.dims += '[';
    for (uint32_t i = 0; i < count && reader_.ok(); ++i) {
      if (i > 0) texts_.dims += ',';
      const auto tag = static_cast<InputTag>(reader_.Read<uint8_t>());
      if (tag == InputTag::kTensor || tag == InputTag::kOpaqueTensor) reader_.Read<uint8_t>();
      texts_.dims += '[';
      if (tag == InputTag::kTensor) texts_.dims += Sizes();
      texts_.dims += ']';
    }
    texts_.dims += ']';
  }

  ByteReader reader_;
  InputTexts& texts_;
  bool unknown_ = false;
};

// Every range of a collective shows its arguments. Longer lists of ranks are stored once, in the
// table of groups.
constexpr size_t kMaxShownRanksBytes = 1024;

std::string JsonList(std::span<const std::byte> payload) {
  std::string text = "[";
  base::NumberBuffer buffer;
  for (size_t i = 0; i + 8 <= payload.size(); i += 8) {
    if (i > 0) text += ',';
    text += base::FormatInt64(base::LoadLe<int64_t>(payload.data() + i), buffer);
  }
  return text + "]";
}

}  // namespace

std::string_view ScalarTypeName(uint8_t code) {
  return code < std::size(kScalarTypes) ? kScalarTypes[code] : std::string_view("unknown");
}

bool ForEachField(std::span<const std::byte> set,
                  const std::function<void(const ArgField&)>& take) {
  ByteReader reader(set);
  while (reader.remaining() > 0) {
    const auto head = reader.Read<capture::ArgHead>();
    const auto payload = reader.ReadBytes(head.length);
    if (!reader.ok()) return false;
    take({head.key, static_cast<ArgType>(head.type), payload});
    reader.Skip(std::min<size_t>((4 - head.length % 4) % 4, reader.remaining()));
  }
  return true;
}

bool DecodeInputs(std::span<const std::byte> payload, InputTexts& texts) {
  return InputDecoder(payload, texts).Run();
}

ArgumentTable::ArgumentTable(const Dictionary& dictionary, store::NamePool& names,
                             store::ImportIssues& issues)
    : dictionary_(dictionary), names_(names), sets_(dictionary.args.size()) {
  for (uint32_t id = 0; id < sets_.size(); ++id) {
    if (dictionary.args[id].empty()) continue;
    bool inputs_fine = true;
    const bool fine = ForEachField(dictionary.args[id], [&](const ArgField& field) {
      if (field.type != ArgType::kInputs) {
        sets_[id].args_id = static_cast<int32_t>(id);
        TakeField(static_cast<int32_t>(id), field);
        return;
      }
      InputTexts texts;
      inputs_fine &= DecodeInputs(field.payload, texts);
      if (inputs_fine) sets_[id].signature = AddSignature(texts);
    });
    if (!fine || !inputs_fine) issues.Add(kBadArguments, "");
  }
}

void ArgumentTable::TakeField(int32_t args_id, const ArgField& field) {
  const int32_t key = names_.Intern(dictionary_.Name(field.key));
  const std::span<const std::byte> payload = field.payload;
  switch (field.type) {
    case ArgType::kInt64:
      if (payload.size() == 8) {
        ints_.push_back({args_id, key, base::LoadLe<int64_t>(payload.data())});
      }
      break;
    case ArgType::kDouble:
      if (payload.size() == 8) {
        doubles_.push_back({args_id, key, base::LoadLe<double>(payload.data())});
      }
      break;
    case ArgType::kName:
      if (payload.size() == 4) {
        const std::string_view text = dictionary_.Name(base::LoadLe<uint32_t>(payload.data()));
        if (dictionary_.Name(field.key) != capture::kKeyGroupRanks) {
          AddText(args_id, key, 0, text);
        } else if (text.size() <= kMaxShownRanksBytes) {
          AddText(args_id, key, 1, text);
        }
      }
      break;
    case ArgType::kText:
      AddText(args_id, key, 0, base::AsText(payload));
      break;
    case ArgType::kJson:
      AddText(args_id, key, 1, base::AsText(payload));
      break;
    case ArgType::kInt64Array:
      AddText(args_id, key, 1, JsonList(payload));
      break;
    case ArgType::kInputs:
      break;
  }
}

void ArgumentTable::AddText(int32_t args_id, int32_t key, int16_t form, std::string_view text) {
  texts_.push_back({args_id, key, form, names_.Intern(text)});
}

int32_t ArgumentTable::AddSignature(const InputTexts& texts) {
  // Dimensions and types together are complete; shapes follow from the dimensions.
  const int32_t key = signature_keys_.Intern(base::Concat(texts.types, "|", texts.dims));
  if (static_cast<size_t>(key) < signatures_.size()) return key;
  signatures_.push_back(
      {key, names_.Intern(texts.shapes), names_.Intern(texts.types), names_.Intern(texts.dims)});
  return key;
}

Status ArgumentTable::Write(store::Transaction& transaction) const {
  SONDE_ASSIGN_OR_RETURN(auto ints, store::TableWriter<store::ArgsIntRow>::Open(transaction));
  for (const auto& row : ints_) ints.Append(row);
  SONDE_RETURN_IF_ERROR(ints.Close());
  SONDE_ASSIGN_OR_RETURN(auto doubles, store::TableWriter<store::ArgsDoubleRow>::Open(transaction));
  for (const auto& row : doubles_) doubles.Append(row);
  SONDE_RETURN_IF_ERROR(doubles.Close());
  SONDE_ASSIGN_OR_RETURN(auto texts, store::TableWriter<store::ArgsTextRow>::Open(transaction));
  for (const auto& row : texts_) texts.Append(row);
  SONDE_RETURN_IF_ERROR(texts.Close());
  SONDE_ASSIGN_OR_RETURN(auto signatures,
                         store::TableWriter<store::OpSignatureRow>::Open(transaction));
  for (const auto& row : signatures_) signatures.Append(row);
  return signatures.Close();
}

}  // namespace sonde::importers::capture_import
