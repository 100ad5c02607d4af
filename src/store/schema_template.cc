#include "store/schema_template.h"

// In schema_template.S.
extern "C" const char sonde_schema_template_begin;  // NOLINT(readability-identifier-naming)
extern "C" const char sonde_schema_template_end;    // NOLINT(readability-identifier-naming)

extern "C" const char sonde_schema_signature_begin;  // NOLINT(readability-identifier-naming)
extern "C" const char sonde_schema_signature_end;    // NOLINT(readability-identifier-naming)

namespace sonde::store {

std::string_view SchemaTemplate() {
  return {&sonde_schema_template_begin,
          static_cast<size_t>(&sonde_schema_template_end - &sonde_schema_template_begin)};
}

std::string_view SchemaSignature() {
  return {&sonde_schema_signature_begin,
          static_cast<size_t>(&sonde_schema_signature_end - &sonde_schema_signature_begin)};
}

}  // namespace sonde::store
