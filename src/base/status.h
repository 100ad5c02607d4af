// The outcome of calls that can fail: Status (code and message) and Result<T> (a value or a
// Status).
//
// Use: every call that cannot do its job for a reason outside the program (file missing, disk full,
// wrong option) returns one of these. Bad records inside data are counted as import issues instead,
// and programming errors are CHECKs.
// Cost: an ok Status is one null pointer; only failures allocate.
// Threads: values; distinct objects may be used by distinct threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace sonde::base {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,     // the caller or user asked for something impossible
  kNotFound,            // file, column, symbol is not there
  kPermissionDenied,    // exists, but may not be read or written
  kAlreadyExists,       // would overwrite
  kResourceExhausted,   // disk, memory, descriptors
  kFailedPrecondition,  // right call at the wrong time
  kOutOfRange,          // beyond the end of data, number too large
  kCorruptData,         // data does not keep to its format
  kUnavailable,         // may work later: busy, timed out, peer gone
  kCancelled,           // a stop was requested
  kUnimplemented,       // known, but not supported
  kInternal,            // an invariant of ours is broken, or an unforeseen system error
};

// "NotFound" and so on; for logs and tests.
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Ok() { return {}; }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : rep_->code; }
  // Context first, cause last: "while reading a.json: line 3: unexpected end". Empty when ok.
  std::string_view message() const { return ok() ? std::string_view() : rep_->message; }
  // "NotFound: message", or "Ok".
  std::string ToString() const;

  // Puts a context before the message of a failure; does nothing to an ok status.
  Status& Annotate(std::string_view context) &;
  Status&& Annotate(std::string_view context) && { return std::move(Annotate(context)); }

  // For the rare place where a failure has no consequence; state the reason next to the call.
  void IgnoreError() const {}

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

// Short makers: `return InvalidArgumentError("level must be ..., not '" + text + "'");`
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status PermissionDeniedError(std::string message);
Status AlreadyExistsError(std::string message);
Status ResourceExhaustedError(std::string message);
Status FailedPreconditionError(std::string message);
Status OutOfRangeError(std::string message);
Status CorruptDataError(std::string message);
Status UnavailableError(std::string message);
Status CancelledError(std::string message);
Status UnimplementedError(std::string message);
Status InternalError(std::string message);

// A T, or the Status with the reason why there is none. Reading the value of a failure is a CHECK.
template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "Result holds values; use a pointer");

 public:
  using value_type = T;

  // Implicit, so that both `return value;` and `return status;` read well.
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    CHECK(!status_.ok(), "a Result without a value needs a failure");
  }
  // Lets `return std::make_unique<Derived>(...)` become a Result<std::unique_ptr<Base>>.
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : value_(std::in_place, std::forward<U>(value)) {}

  bool ok() const { return value_.has_value(); }
  // Ok when there is a value.
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  T& value() & {
    RequireValue();
    return *value_;
  }
  const T& value() const& {
    RequireValue();
    return *value_;
  }
  T&& value() && {
    RequireValue();
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  template <class U>
  T value_or(U&& fallback) const& {
    return value_.has_value() ? *value_ : static_cast<T>(std::forward<U>(fallback));
  }

  Result& Annotate(std::string_view context) & {
    status_.Annotate(context);
    return *this;
  }
  Result&& Annotate(std::string_view context) && { return std::move(Annotate(context)); }

 private:
  void RequireValue() const {
    if (!value_.has_value()) [[unlikely]] {
      internal::CheckFailed(__FILE__, __LINE__, "Result::ok()", status_.message());
    }
  }

  std::optional<T> value_;
  Status status_;
};

namespace internal {
inline Status TakeStatus(Status&& status) { return std::move(status); }
inline Status TakeStatus(const Status& status) { return status; }
template <class T>
Status TakeStatus(Result<T>&& result) {
  return std::move(result).status();
}
}  // namespace internal

}  // namespace sonde::base

namespace sonde {
// Short names for all folders: they are part of nearly every signature.
using base::Result;
using base::Status;
using base::StatusCode;

using base::AlreadyExistsError;
using base::CancelledError;
using base::CorruptDataError;
using base::FailedPreconditionError;
using base::InternalError;
using base::InvalidArgumentError;
using base::NotFoundError;
using base::OutOfRangeError;
using base::PermissionDeniedError;
using base::ResourceExhaustedError;
using base::UnavailableError;
using base::UnimplementedError;
}  // namespace sonde

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may be a declaration.

// Leaves the enclosing function with the failure of `expr` (a Status).
#define SONDE_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                  \
    if (::sonde::base::Status sonde_status_ = (expr); !sonde_status_.ok()) [[unlikely]] \
      return sonde_status_;                                                             \
  } while (false)

#define SONDE_MACRO_JOIN_INNER(a, b) a##b
#define SONDE_MACRO_JOIN(a, b) SONDE_MACRO_JOIN_INNER(a, b)

// SONDE_ASSIGN_OR_RETURN(auto text, ReadFile(path)); leaves the function with the failure, or
// assigns (moves) the value. Not usable as the body of an unbraced `if`. A `lhs` that holds a comma
// outside parentheses needs a type alias.
#define SONDE_ASSIGN_OR_RETURN(lhs, expr) \
  SONDE_ASSIGN_OR_RETURN_INNER(SONDE_MACRO_JOIN(sonde_result_, __LINE__), lhs, expr)
#define SONDE_ASSIGN_OR_RETURN_INNER(result, lhs, expr)            \
  auto result = (expr);                                            \
  if (!result.ok()) [[unlikely]]                                   \
    return ::sonde::base::internal::TakeStatus(std::move(result)); \
  lhs = std::move(result).value()

// NOLINTEND(bugprone-macro-parentheses)
