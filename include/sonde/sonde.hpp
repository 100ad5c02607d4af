// Sonde recorder for C++ (11 and later): ranges that end with their scope, names that are looked up
// once, argument sets by chained calls. A thin layer over <sonde/sonde.h>; link with sonde_record.
//
//   void Step(int number) {
//     SONDE_SCOPE("step");                      // a range until the end of the block
//     sonde::Counter("queue length", queue.size());
//     ...
//   }
//
// While no session records, a scope costs a load and a branch. Names given as literals are interned
// when the line is first reached; names made at run time are interned at each use, which takes a
// hash and no lock once they are known. Threads: any; nothing here throws or fails.
#ifndef SONDE_SONDE_HPP_
#define SONDE_SONDE_HPP_

#include <sonde/sonde.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace sonde {

inline sonde_name Intern(const char* text) { return sonde_intern(text, std::strlen(text)); }
inline sonde_name Intern(const std::string& text) { return sonde_intern(text.data(), text.size()); }

// Arguments of a range or mark: Args().Int(key, 3).Text(key, "x"). Keys are interned names. Sets of
// equal content share one id; make the set once and keep the id where the content does not change.
class Args {
 public:
  Args() { sonde_args_init(&builder_); }
  Args& Int(sonde_name key, int64_t value) {
    sonde_args_int(&builder_, key, value);
    return *this;
  }
  Args& Double(sonde_name key, double value) {
    sonde_args_double(&builder_, key, value);
    return *this;
  }
  Args& Text(sonde_name key, const std::string& value) {
    sonde_args_text(&builder_, key, value.data(), value.size());
    return *this;
  }
  Args& Ints(sonde_name key, const int64_t* values, size_t count) {
    sonde_args_ints(&builder_, key, values, count);
    return *this;
  }
  sonde_args Id() const { return sonde_args_intern(&builder_); }

 private:
  sonde_args_builder builder_;
};

// A range on this thread until the end of the scope.
class Scope {
 public:
  explicit Scope(sonde_name name, sonde_domain domain = 0, sonde_args args = 0)
      : open_(sonde_recording() != 0) {
    if (open_) sonde_range_push_args(name, domain, args);
  }
  // A name made at run time.
  explicit Scope(const std::string& name, sonde_domain domain = 0) : open_(sonde_recording() != 0) {
    if (open_) sonde_range_push(Intern(name), domain);
  }
  ~Scope() {
    if (open_) sonde_range_pop();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const bool open_;
};

// A range that may end on another thread, or never. Movable: the holder ends it.
class Span {
 public:
  explicit Span(sonde_name name, sonde_domain domain = 0, sonde_args args = 0)
      : id_(sonde_range_start(name, domain, args)) {}
  Span(Span&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  Span& operator=(Span&& other) noexcept {
    if (this != &other) {
      End();
      id_ = other.id_;
      other.id_ = 0;
    }
    return *this;
  }
  ~Span() { End(); }
  void End() {
    if (id_ != 0) sonde_range_end(id_);
    id_ = 0;
  }

 private:
  uint64_t id_;
};

inline void Mark(const std::string& name, sonde_domain domain = 0) {
  if (sonde_recording() != 0) sonde_mark(Intern(name), domain, 0);
}

template <class T>
inline void Counter(const std::string& name, T value) {
  if (sonde_recording() != 0) sonde_counter(Intern(name), 0, static_cast<double>(value));
}

}  // namespace sonde

#define SONDE_JOIN_INNER_(a, b) a##b
#define SONDE_JOIN_(a, b) SONDE_JOIN_INNER_(a, b)

// Id of a literal, interned when the line is first reached.
#define SONDE_NAME(literal)                                                               \
  ([]() -> sonde_name {                                                                   \
    static const sonde_name sonde_id_ = sonde_intern("" literal, sizeof("" literal) - 1); \
    return sonde_id_;                                                                     \
  }())

// A range from here to the end of the block, named by a literal.
#define SONDE_SCOPE(literal) \
  const ::sonde::Scope SONDE_JOIN_(sonde_scope_, __LINE__)(SONDE_NAME(literal))

#endif  // SONDE_SONDE_HPP_
