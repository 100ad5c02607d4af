#include "precision/dump/pretty_json.h"

#include "base/host/json_writer.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

class Printer {
 public:
  Printer(std::string_view json, int indent) : json_(json, "text"), indent_(indent) {}

  bool Print(std::string* out) {
    Value(out);
    json_.ExpectEnd();
    return !json_.failed();
  }

 private:
  void Break(std::string* out) const {
    *out += '\n';
    out->append(static_cast<size_t>(depth_ * indent_), ' ');
  }

  void Value(std::string* out) {
    const JsonScanner::Kind kind = json_.Peek();
    if (kind == JsonScanner::Kind::kObject) {
      Object(out);
    } else if (kind == JsonScanner::Kind::kArray) {
      Array(out);
    } else if (kind != JsonScanner::Kind::kError) {
      *out += json_.SkipValue();
    }
  }

  void Object(std::string* out) {
    json_.BeginObject();
    *out += '{';
    ++depth_;
    bool any = false;
    for (std::string_view key; json_.NextKey(&key); any = true) {
      if (any) *out += ',';
      Break(out);
      AppendJsonText(key, out);
      *out += ": ";
      Value(out);
    }
    --depth_;
    if (any) Break(out);
    *out += '}';
  }

  void Array(std::string* out) {
    json_.BeginArray();
    *out += '[';
    ++depth_;
    bool any = false;
    for (; json_.NextElement(); any = true) {
      if (any) *out += ',';
      Break(out);
      Value(out);
    }
    --depth_;
    if (any) Break(out);
    *out += ']';
  }

  JsonScanner json_;
  int indent_;
  int depth_ = 0;
};

}  // namespace

std::string PrettyJson(std::string_view json, int indent) {
  std::string out;
  return Printer(json, indent).Print(&out) ? out : std::string(json);
}

void AppendJsonText(std::string_view text, std::string* out) {
  base::JsonWriter writer(nullptr);
  writer.String(text);
  *out += writer.Take();
}

}  // namespace sonde::precision
