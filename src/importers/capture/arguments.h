// Argument sets of a capture: rows of the args tables, and the texts of op inputs.
//
// A set's inputs (shapes and types) become a signature; its other fields keep the set's number as
// args_id. Built once from the dictionary; then constant, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "capture/args.h"
#include "importers/capture/dictionary.h"
#include "store/name_pool.h"
#include "store/rows.h"

namespace sonde::importers::capture_import {

struct ArgField {
  uint32_t key;  // name id of the dictionary
  capture::ArgType type;
  std::span<const std::byte> payload;
};

// Calls `take` for every field; false where the set does not keep to the format (fields before the
// place were taken).
bool ForEachField(std::span<const std::byte> set, const std::function<void(const ArgField&)>& take);

// Texts of op inputs as the store keeps them.
struct InputTexts {
  std::string shapes;  // "4,4;;2"
  std::string types;   // "float;Scalar;TensorList"
  std::string dims;    // "[[4,4],[],[[2],[3]]]"
};
bool DecodeInputs(std::span<const std::byte> payload, InputTexts& texts);

// The C++ name of a type by its code: "float"; "unknown" for a code that is none.
std::string_view ScalarTypeName(uint8_t code);

class ArgumentTable {
 public:
  ArgumentTable(const Dictionary& dictionary, store::NamePool& names, store::ImportIssues& issues);

  // By argument set id of the capture.
  int32_t ArgsId(uint32_t id) const { return id < sets_.size() ? sets_[id].args_id : -1; }
  int32_t SignatureId(uint32_t id) const { return id < sets_.size() ? sets_[id].signature : -1; }
  const store::OpSignatureRow& Signature(int32_t id) const {
    return signatures_[static_cast<size_t>(id)];
  }
  Status Write(store::Transaction& transaction) const;

 private:
  struct Set {
    int32_t args_id = -1;
    int32_t signature = -1;
  };
  void TakeField(int32_t args_id, const ArgField& field);
  int32_t AddSignature(const InputTexts& texts);
  void AddText(int32_t args_id, int32_t key, int16_t form, std::string_view text);

  const Dictionary& dictionary_;
  store::NamePool& names_;
  std::vector<Set> sets_;
  std::vector<store::OpSignatureRow> signatures_;
  store::NamePool signature_keys_;
  std::vector<store::ArgsIntRow> ints_;
  std::vector<store::ArgsDoubleRow> doubles_;
  std::vector<store::ArgsTextRow> texts_;
};

}  // namespace sonde::importers::capture_import
