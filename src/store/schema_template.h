// A database file with the tables and views of a store and without rows, made when Sonde is built:
// a copy of it takes a millisecond, making the tables anew takes twenty.
#pragma once

#include <string_view>

namespace sonde::store {

// The bytes of the file.
std::string_view SchemaTemplate();

// What kSignatureQuery (schema_check.h) gives for it.
std::string_view SchemaSignature();

}  // namespace sonde::store
