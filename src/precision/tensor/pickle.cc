#include "precision/tensor/pickle.h"

#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "precision/tensor/pickle_rebuild.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;
using Kind = PickleValue::Kind;

// A tensor's pickle is small; these keep a hostile one from eating memory. A checkpoint has some
// tens of values for each of its tensors.
constexpr size_t kMaxValues = 1'000'000;
constexpr size_t kMaxValuesOfAnyData = 16'000'000;

// The stack machine. One use.
class Machine {
 public:
  Machine(std::string_view bytes, PicklePool* pool, PickleRules rules)
      : bytes_(bytes),
        pool_(pool),
        rules_(rules),
        max_values_(IsAny() ? kMaxValuesOfAnyData : kMaxValues) {}

  Result<PicklePtr> Run();
  size_t position() const { return position_; }

 private:
  // Each returns false when the pickle is broken; error_ has the details, if known.
  bool Step(uint8_t opcode);
  bool Numbers(uint8_t opcode);
  bool Texts(uint8_t opcode);
  bool Containers(uint8_t opcode);
  bool Objects(uint8_t opcode);
  bool Memory(uint8_t opcode);
  bool RareOnes(uint8_t opcode);

  bool IsAny() const { return rules_ == PickleRules::kAnyData; }
  bool Take(size_t size, std::string_view* out);
  bool TakeLine(std::string_view* out);
  bool TakeSized(size_t length_bytes, std::string_view* out);
  bool TakeUnsigned(size_t bytes, uint64_t* out);
  bool Push(PicklePtr value);
  bool Pop(PicklePtr* out);
  // Everything above the topmost mark, which goes too.
  bool PopToMark(std::vector<PicklePtr>* out);
  bool PushLong(std::string_view bytes);
  bool Remember(uint64_t slot);
  bool Recall(uint64_t slot);
  bool PushTuple(size_t size);
  bool AddTo(std::vector<PicklePtr> items, Kind kind);
  bool PushResult(Result<PicklePtr> result);

  PicklePtr Make(Kind kind) { return pool_->Make(kind); }
  PicklePtr MakeInt(int64_t number) {
    const PicklePtr value = Make(Kind::kInt);
    value->number = number;
    return value;
  }
  PicklePtr MakeText(std::string_view text) {
    const PicklePtr value = Make(Kind::kText);
    value->text = text;
    return value;
  }

  std::string_view bytes_;
  PicklePool* pool_;
  const PickleRules rules_;
  const size_t max_values_;
  size_t position_ = 0;
  std::vector<PicklePtr> stack_;
  std::vector<PicklePtr> memo_;  // of slots from 0 on, as nearly all pickles number them
  std::unordered_map<uint64_t, PicklePtr> other_slots_;
  size_t made_ = 0;
  bool handled_ = false;  // the group of opcodes tried last knew the opcode
  bool stopped_ = false;
  Status error_;
};

bool Machine::Take(size_t size, std::string_view* out) {
  if (size > bytes_.size() - position_) return false;
  *out = bytes_.substr(position_, size);
  position_ += size;
  return true;
}

bool Machine::TakeLine(std::string_view* out) {
  const size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) return false;
  *out = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return true;
}

bool Machine::TakeUnsigned(size_t bytes, uint64_t* out) {
  std::string_view raw;
  if (!Take(bytes, &raw)) return false;
  *out = 0;
  for (size_t i = 0; i < bytes; ++i) {
    *out |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
  }
  return true;
}

bool Machine::TakeSized(size_t length_bytes, std::string_view* out) {
  uint64_t length = 0;
  return TakeUnsigned(length_bytes, &length) && length <= bytes_.size() && Take(length, out);
}

bool Machine::Push(PicklePtr value) {
  if (++made_ > max_values_) {
    error_ = CorruptDataError(Concat("too many objects for a ", IsAny() ? "checkpoint" : "tensor"));
    return false;
  }
  stack_.push_back(value);
  return true;
}

bool Machine::Pop(PicklePtr* out) {
  if (stack_.empty() || stack_.back()->kind == Kind::kMark) return false;
  *out = stack_.back();
  stack_.pop_back();
  return true;
}

bool Machine::PopToMark(std::vector<PicklePtr>* out) {
  size_t mark = stack_.size();
  while (mark > 0 && stack_[mark - 1]->kind != Kind::kMark) --mark;
  if (mark == 0) return false;
  out->assign(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
  stack_.resize(mark - 1);
  return true;
}

bool Machine::PushLong(std::string_view bytes) {
  if (bytes.size() > 8) {
    const PicklePtr value = Make(Kind::kBigInt);
    value->text = bytes;
    return Push(value);
  }
  uint64_t number = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    number |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes.back()) & 0x80U) != 0;
  if (negative && bytes.size() < 8) number |= ~uint64_t{0} << (8 * bytes.size());
  return Push(MakeInt(static_cast<int64_t>(number)));
}

bool Machine::Remember(uint64_t slot) {
  if (stack_.empty() || memo_.size() + other_slots_.size() >= max_values_) return false;
  if (slot < memo_.size()) {
    memo_[slot] = stack_.back();
  } else if (slot == memo_.size()) {
    memo_.push_back(stack_.back());
  } else {
    other_slots_[slot] = stack_.back();
  }
  return true;
}

bool Machine::Recall(uint64_t slot) {
  if (slot < memo_.size()) return Push(memo_[slot]);
  const auto found = other_slots_.find(slot);  // of pickles that were optimised
  return found != other_slots_.end() && Push(found->second);
}

bool Machine::PushTuple(size_t size) {
  const PicklePtr tuple = Make(Kind::kTuple);
  tuple->items.resize(size);
  for (size_t i = size; i-- > 0;) {
    if (!Pop(&tuple->items[i])) return false;
  }
  return Push(tuple);
}

bool Machine::AddTo(std::vector<PicklePtr> items, Kind kind) {
  if (stack_.empty()) return false;
  const PicklePtr to = stack_.back();
  const bool is_object = IsAny() && to->kind == Kind::kObject;
  if (to->kind != kind && !is_object) return false;
  if (kind == Kind::kDict && items.size() % 2 != 0) return false;
  auto& all = is_object && kind == Kind::kList ? to->parts : to->items;
  if (all.size() + items.size() > max_values_) return false;
  all.insert(all.end(), items.begin(), items.end());
  return true;
}

bool Machine::PushResult(Result<PicklePtr> result) {
  if (!result.ok()) {
    error_ = std::move(result).status();
    return false;
  }
  return Push(*result);
}

bool Machine::Numbers(uint8_t opcode) {
  uint64_t number = 0;
  std::string_view text;
  switch (opcode) {
    case 'K':
      return TakeUnsigned(1, &number) && Push(MakeInt(static_cast<int64_t>(number)));
    case 'M':
      return TakeUnsigned(2, &number) && Push(MakeInt(static_cast<int64_t>(number)));
    case 'J':
      return TakeUnsigned(4, &number) && Push(MakeInt(static_cast<int32_t>(number)));
    case 0x8A:  // LONG1
      return TakeSized(1, &text) && PushLong(text);
    case 0x8B:  // LONG4
      return TakeSized(4, &text) && PushLong(text);
    case 'I': {  // INT; "00" and "01" are booleans
      if (!TakeLine(&text)) return false;
      if (text == "00" || text == "01") {
        const PicklePtr value = Make(Kind::kBool);
        value->number = text == "01" ? 1 : 0;
        return Push(value);
      }
      const auto value = base::ParseInt64(text);
      return value && Push(MakeInt(*value));
    }
    case 'L': {  // LONG
      if (!TakeLine(&text)) return false;
      if (text.ends_with('L')) text.remove_suffix(1);
      const auto value = base::ParseInt64(text);
      return value && Push(MakeInt(*value));
    }
    case 'G': {  // BINFLOAT, big endian
      if (!TakeUnsigned(8, &number)) return false;
      const PicklePtr value = Make(Kind::kFloat);
      value->real = std::bit_cast<double>(__builtin_bswap64(number));
      return Push(value);
    }
    case 'N':
      return Push(Make(Kind::kNone));
    case 0x88:
    case 0x89: {  // NEWTRUE, NEWFALSE
      const PicklePtr value = Make(Kind::kBool);
      value->number = opcode == 0x88 ? 1 : 0;
      return Push(value);
    }
    default:
      handled_ = false;
      return true;
  }
}

bool Machine::Texts(uint8_t opcode) {
  std::string_view text;
  switch (opcode) {
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return TakeSized(4, &text) && Push(MakeText(text));
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
    case 0x8C:  // SHORT_BINUNICODE
      return TakeSized(1, &text) && Push(MakeText(text));
    case 0x8D:  // BINUNICODE8
    case 0x8E:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return TakeSized(8, &text) && Push(MakeText(text));
    case 'V':  // UNICODE
      return TakeLine(&text) && Push(MakeText(text));
    default:
      handled_ = false;
      return true;
  }
}

bool Machine::Containers(uint8_t opcode) {
  std::vector<PicklePtr> items;
  PicklePtr value = nullptr;
  switch (opcode) {
    case '(':
      return Push(Make(Kind::kMark));
    case ')':
      return PushTuple(0);
    case 0x85:
    case 0x86:
    case 0x87:  // TUPLE1 to TUPLE3
      return PushTuple(opcode - 0x84U);
    case 't': {
      const PicklePtr tuple = Make(Kind::kTuple);
      return PopToMark(&tuple->items) && Push(tuple);
    }
    case 'l': {
      const PicklePtr list = Make(Kind::kList);
      return PopToMark(&list->items) && Push(list);
    }
    case 'd': {
      const PicklePtr dict = Make(Kind::kDict);
      return PopToMark(&dict->items) && dict->items.size() % 2 == 0 && Push(dict);
    }
    case ']':
      return Push(Make(Kind::kList));
    case '}':
      return Push(Make(Kind::kDict));
    case 'a':
      return Pop(&value) && AddTo({value}, Kind::kList);
    case 'e':
      return PopToMark(&items) && AddTo(std::move(items), Kind::kList);
    case 's': {
      PicklePtr key = nullptr;
      return Pop(&value) && Pop(&key) && AddTo({key, value}, Kind::kDict);
    }
    case 'u':
      return PopToMark(&items) && AddTo(std::move(items), Kind::kDict);
    case '0':
      return Pop(&value);
    case '2':
      return !stack_.empty() && Push(stack_.back());
    default:
      handled_ = false;
      return true;
  }
}

bool Machine::Objects(uint8_t opcode) {
  std::string_view module;
  std::string_view name;
  PicklePtr value = nullptr;
  PicklePtr function = nullptr;
  switch (opcode) {
    case 'c': {
      if (!TakeLine(&module) || !TakeLine(&name)) return false;
      const PicklePtr global = Make(Kind::kGlobal);
      global->text = Concat(module, " ", name);
      return Push(global);
    }
    case 0x93: {  // STACK_GLOBAL
      if (!Pop(&value) || !Pop(&function)) return false;
      const PicklePtr global = Make(Kind::kGlobal);
      global->text = Concat(function->text, " ", value->text);
      pool_->CountCopies(global->text.size() / 8);
      return Push(global);
    }
    case 'R':
    case 0x81:  // REDUCE, NEWOBJ
      return Pop(&value) && Pop(&function) &&
             PushResult(RebuildPickled(function, value, pool_, rules_));
    case 'b':  // BUILD
      if (!Pop(&value) || stack_.empty()) return false;
      BuildObject(stack_.back(), value, pool_);
      return true;
    case 'Q':
      return Pop(&value) && PushResult(ReadStorageId(value, pool_));
    default:
      handled_ = false;
      return true;
  }
}

bool Machine::Memory(uint8_t opcode) {
  uint64_t slot = 0;
  switch (opcode) {
    case 'q':
      return TakeUnsigned(1, &slot) && Remember(slot);
    case 'r':
      return TakeUnsigned(4, &slot) && Remember(slot);
    case 0x94:  // MEMOIZE
      return Remember(memo_.size() + other_slots_.size());
    case 'h':
      return TakeUnsigned(1, &slot) && Recall(slot);
    case 'j':
      return TakeUnsigned(4, &slot) && Recall(slot);
    default:
      handled_ = false;
      return true;
  }
}

// Opcodes that no tensor needs, but that programs save with their tensors.
bool Machine::RareOnes(uint8_t opcode) {
  std::string_view text;
  std::vector<PicklePtr> items;
  PicklePtr value = nullptr;
  PicklePtr function = nullptr;
  handled_ = IsAny();
  if (!handled_) return true;
  switch (opcode) {
    case 'F':  // FLOAT
    case 'S':  // STRING
      return TakeLine(&text) && Push(MakeText(text));
    case 0x8F:  // EMPTY_SET
      return Push(Make(Kind::kList));
    case 0x90:  // ADDITEMS
      return PopToMark(&items) && AddTo(std::move(items), Kind::kList);
    case 0x91: {  // FROZENSET
      const PicklePtr list = Make(Kind::kList);
      return PopToMark(&list->items) && Push(list);
    }
    case 0x92:  // NEWOBJ_EX: arguments by name are not used for tensors
      return Pop(&value) && Pop(&value) && Pop(&function) &&
             PushResult(RebuildPickled(function, value, pool_, rules_));
    case '1':  // POP_MARK
      return PopToMark(&items);
    default:
      handled_ = false;
      return true;
  }
}

bool Machine::Step(uint8_t opcode) {
  uint64_t number = 0;
  switch (opcode) {
    case 0x80:  // PROTO
      if (!TakeUnsigned(1, &number)) return false;
      if (number > 5) {
        error_ = base::UnimplementedError(Concat("pickle protocol ", std::to_string(number)));
      }
      return number <= 5;
    case 0x95:  // FRAME
      return TakeUnsigned(8, &number);
    case '.':
      stopped_ = true;
      return true;
    default:
      break;
  }
  for (const auto group : {&Machine::Numbers, &Machine::Texts, &Machine::Containers,
                           &Machine::Objects, &Machine::Memory, &Machine::RareOnes}) {
    handled_ = true;
    const bool good = (this->*group)(opcode);
    if (handled_) return good;
  }
  error_ = base::UnimplementedError(Concat("the pickle holds opcode ", std::to_string(opcode),
                                           ", which does not belong to a tensor"));
  return false;
}

Result<PicklePtr> Machine::Run() {
  while (!stopped_) {
    uint64_t opcode = 0;
    if (!TakeUnsigned(1, &opcode)) return CorruptDataError("the pickle ends too early");
    if (!Step(static_cast<uint8_t>(opcode)) || pool_->copies() > max_values_) {
      if (!error_.ok()) return error_;
      if (pool_->copies() > max_values_) return CorruptDataError("the pickle repeats too much");
      return CorruptDataError(Concat("broken pickle at byte ", std::to_string(position_)));
    }
  }
  if (stack_.size() != 1 || stack_.back()->kind == Kind::kMark)
    return CorruptDataError("the pickle leaves no single object");
  return stack_.back();
}

}  // namespace

Result<PicklePtr> ReadPickle(std::string_view bytes, PicklePool* pool, size_t* consumed,
                             PickleRules rules) {
  Machine machine(bytes, pool, rules);
  Result<PicklePtr> result = machine.Run();
  *consumed = machine.position();
  return result;
}

PicklePtr FindMember(PicklePtr of, std::string_view key) {
  if (of->kind != Kind::kDict && of->kind != Kind::kObject) return nullptr;
  PicklePtr found = nullptr;  // the last one counts, as in Python
  for (size_t i = 0; i + 1 < of->items.size(); i += 2) {
    const PickleValue& name = *of->items[i];
    if (name.kind == Kind::kText && name.text == key) found = of->items[i + 1];
  }
  return found;
}

}  // namespace sonde::precision
