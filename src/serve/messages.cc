#include "serve/messages.h"

#include "base/strings.h"

namespace sonde::serve {

std::string TypeScriptMessages() {
  std::string text =
      "// Made from src/serve/messages.h: `make golden` rewrites it.\n\n"
      "export type Cell = string | number | boolean | null;\n";
#define SONDE_FIELD(type, name, meaning) \
  text += base::Concat("  /** ", meaning, " */\n  ", #name, ": ", TypeScriptType(#type), ";\n");
#define SONDE_MESSAGE(Struct, FIELDS)                           \
  text += base::Concat("\nexport interface ", #Struct, " {\n"); \
  FIELDS(SONDE_FIELD)                                           \
  text += "}\n";
  SONDE_MESSAGES(SONDE_MESSAGE)
#undef SONDE_MESSAGE
#undef SONDE_FIELD
  return text;
}

}  // namespace sonde::serve
