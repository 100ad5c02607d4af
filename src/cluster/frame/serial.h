// Values as bytes, for who hands them to another process of the same program.
//
// Numbers, enums, texts, optional values, pairs, tuples, arrays, vectors, maps, sets, and structs
// of these without a base and without private members: their members are found by the compiler, so
// that a struct needs no list of them. Not for files that stay: the bytes carry no type.
// Pure, any thread. Errors: Take is false where the bytes end early.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sonde::cluster::serial {

// State that is of no use to another process: it is not sent.
template <class T>
struct Own {
  T value{};
};

template <class T>
void Put(const T& value, std::string& out);
template <class T>
bool Take(std::string_view& in, T& value);

namespace internal {

// Stands for a value of any type where members are counted; is never made.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): it stands for members
};

template <class T, size_t... index>
constexpr bool TakesMembers(std::index_sequence<index...>) {
  return requires { T{((void)index, Anything{})...}; };
}
constexpr size_t kMostMembers = 32;
template <class T, size_t count = kMostMembers>
constexpr size_t CountMembers() {
  if constexpr (TakesMembers<T>(std::make_index_sequence<count>())) {
    return count;
  } else {
    static_assert(count > 0, "a struct of members that can be given");
    return CountMembers<T, count - 1>();
  }
}

template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <class... Args, template <class...> class Of>
inline constexpr bool kIs<Of<Args...>, Of> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, size_t count>
inline constexpr bool kIsArray<std::array<T, count>> = true;

// Calls visit(members...). Names for each count, since C++20 binds no pack.
#define SONDE_SERIAL_BIND(count, ...)                  \
  else if constexpr (CountMembers<Plain>() == count) { \
    auto& [__VA_ARGS__] = value;                       \
    return visit(__VA_ARGS__);                         \
  }
template <class T, class Visit>
auto VisitMembers(T& value, const Visit& visit) {
  using Plain = std::remove_const_t<T>;
  static_assert(std::is_aggregate_v<Plain> && CountMembers<Plain>() < 21,
                "a struct of up to 20 members, else more lines below");
  if constexpr (std::is_empty_v<Plain>) {
    return visit();
  }
  SONDE_SERIAL_BIND(1, a)
  SONDE_SERIAL_BIND(2, a, b)
  SONDE_SERIAL_BIND(3, a, b, c)
  SONDE_SERIAL_BIND(4, a, b, c, d)
  SONDE_SERIAL_BIND(5, a, b, c, d, e)
  SONDE_SERIAL_BIND(6, a, b, c, d, e, f)
  SONDE_SERIAL_BIND(7, a, b, c, d, e, f, g)
  SONDE_SERIAL_BIND(8, a, b, c, d, e, f, g, h)
  SONDE_SERIAL_BIND(9, a, b, c, d, e, f, g, h, i)
  SONDE_SERIAL_BIND(10, a, b, c, d, e, f, g, h, i, j)
  SONDE_SERIAL_BIND(11, a, b, c, d, e, f, g, h, i, j, k)
  SONDE_SERIAL_BIND(12, a, b, c, d, e, f, g, h, i, j, k, l)
  SONDE_SERIAL_BIND(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  SONDE_SERIAL_BIND(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  SONDE_SERIAL_BIND(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  SONDE_SERIAL_BIND(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  SONDE_SERIAL_BIND(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  SONDE_SERIAL_BIND(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  SONDE_SERIAL_BIND(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  SONDE_SERIAL_BIND(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
}
#undef SONDE_SERIAL_BIND

inline bool TakeSize(std::string_view& in, size_t& size) {
  uint64_t count = 0;
  if (in.size() < sizeof(count)) return false;
  std::memcpy(&count, in.data(), sizeof(count));
  in.remove_prefix(sizeof(count));
  size = count;
  return count <= in.size();  // each takes a byte at least, so that no size asks for all memory
}
inline void PutSize(size_t size, std::string& out) {
  const uint64_t count = size;
  out.append(reinterpret_cast<const char*>(&count), sizeof(count));
}

template <class List>
bool TakeList(std::string_view& in, List& list) {
  size_t size = 0;
  list.clear();
  if (!TakeSize(in, size)) return false;
  for (size_t i = 0; i < size; ++i) {
    typename List::value_type value{};
    if (!Take(in, value)) return false;
    list.insert(list.end(), std::move(value));
  }
  return true;
}

}  // namespace internal

template <class T>
void Put(const T& value, std::string& out) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  } else if constexpr (internal::kIs<T, Own>) {
    return;
  } else if constexpr (std::is_same_v<T, std::string>) {
    internal::PutSize(value.size(), out);
    out += value;
  } else if constexpr (internal::kIs<T, std::optional>) {
    Put(value.has_value(), out);
    if (value) Put(*value, out);
  } else if constexpr (internal::kIs<T, std::vector> || internal::kIs<T, std::set>) {
    internal::PutSize(value.size(), out);
    for (const typename T::value_type& one : value) Put(one, out);
  } else if constexpr (internal::kIs<T, std::map>) {
    internal::PutSize(value.size(), out);
    for (const auto& [key, one] : value) {
      Put(key, out);
      Put(one, out);
    }
  } else if constexpr (internal::kIsArray<T>) {
    for (const auto& one : value) Put(one, out);
  } else if constexpr (internal::kIs<T, std::pair> || internal::kIs<T, std::tuple>) {
    std::apply([&](const auto&... members) { (Put(members, out), ...); }, value);
  } else {
    internal::VisitMembers(value, [&](const auto&... members) { (Put(members, out), ...); });
  }
}

template <class T>
bool Take(std::string_view& in, T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    if (in.size() < sizeof(value)) return false;
    std::memcpy(&value, in.data(), sizeof(value));
    in.remove_prefix(sizeof(value));
    return true;
  } else if constexpr (internal::kIs<T, Own>) {
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    size_t size = 0;
    if (!internal::TakeSize(in, size)) return false;
    value.assign(in.substr(0, size));
    in.remove_prefix(size);
    return true;
  } else if constexpr (internal::kIs<T, std::optional>) {
    bool has_value = false;
    if (!Take(in, has_value)) return false;
    if (!has_value) return true;
    return Take(in, value.emplace());
  } else if constexpr (internal::kIs<T, std::vector> || internal::kIs<T, std::set>) {
    return internal::TakeList(in, value);
  } else if constexpr (internal::kIs<T, std::map>) {
    size_t size = 0;
    if (!internal::TakeSize(in, size)) return false;
    for (size_t i = 0; i < size; ++i) {
      typename T::key_type key{};
      if (!Take(in, key) || !Take(in, value[std::move(key)])) return false;
    }
    return true;
  } else if constexpr (internal::kIsArray<T>) {
    for (auto& one : value) {
      if (!Take(in, one)) return false;
    }
    return true;
  } else if constexpr (internal::kIs<T, std::pair> || internal::kIs<T, std::tuple>) {
    return std::apply([&](auto&... members) { return (Take(in, members) && ...); }, value);
  } else {
    return internal::VisitMembers(value,
                                  [&](auto&... members) { return (Take(in, members) && ...); });
  }
}

}  // namespace sonde::cluster::serial
