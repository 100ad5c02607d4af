// The members of a struct, their names and types, which the compiler finds, so that a struct needs
// no list of them. Of structs without a base and without private members, up to 23 of them.
//
//   VisitMembers(row, [](const auto&... members) { ... });
//   MemberName<Row, 0>()   // "ts"
//
// At compile time; any thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sonde::cluster::columns::internal {

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

// Calls visit(members...). Names for each count, since C++20 binds no pack.
#define SONDE_BIND_MEMBERS(count, ...)                 \
  else if constexpr (CountMembers<Plain>() == count) { \
    auto& [__VA_ARGS__] = value;                       \
    return visit(__VA_ARGS__);                         \
  }
template <class T, class Visit>
constexpr auto VisitMembers(T& value, const Visit& visit) {
  using Plain = std::remove_const_t<T>;
  static_assert(std::is_aggregate_v<Plain> && CountMembers<Plain>() < 24,
                "a struct of up to 23 members, else more lines below");
  if constexpr (std::is_empty_v<Plain>) {
    return visit();
  }
  SONDE_BIND_MEMBERS(1, a)
  SONDE_BIND_MEMBERS(2, a, b)
  SONDE_BIND_MEMBERS(3, a, b, c)
  SONDE_BIND_MEMBERS(4, a, b, c, d)
  SONDE_BIND_MEMBERS(5, a, b, c, d, e)
  SONDE_BIND_MEMBERS(6, a, b, c, d, e, f)
  SONDE_BIND_MEMBERS(7, a, b, c, d, e, f, g)
  SONDE_BIND_MEMBERS(8, a, b, c, d, e, f, g, h)
  SONDE_BIND_MEMBERS(9, a, b, c, d, e, f, g, h, i)
  SONDE_BIND_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
  SONDE_BIND_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
  SONDE_BIND_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  SONDE_BIND_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  SONDE_BIND_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  SONDE_BIND_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  SONDE_BIND_MEMBERS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  SONDE_BIND_MEMBERS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  SONDE_BIND_MEMBERS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  SONDE_BIND_MEMBERS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  SONDE_BIND_MEMBERS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  SONDE_BIND_MEMBERS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  SONDE_BIND_MEMBERS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  SONDE_BIND_MEMBERS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
}
#undef SONDE_BIND_MEMBERS

// Names of members: those of an object that is never made, as the compiler writes a pointer to
// each of its members.
template <class T>
struct Holder {
  T value;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const Holder<T> kNeverMade;
template <const auto* pointer>
consteval std::string_view NameOfMember() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(0, text.find(';'));  // g++ explains its names of types behind it
  text = text.substr(0, text.find_last_not_of(")]") + 1);
  return text.substr(text.find_last_of(":.") + 1);
}
template <class T>
consteval auto PointersToMembers() {
  return VisitMembers(kNeverMade<T>.value,
                      [](const auto&... members) { return std::tuple(&members...); });
}
template <class T, size_t index>
consteval std::string_view MemberName() {
  constexpr auto kPointer = std::get<index>(PointersToMembers<T>());
  return NameOfMember<kPointer>();
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T, size_t index>
using MemberType = std::remove_const_t<
    std::remove_pointer_t<std::tuple_element_t<index, decltype(PointersToMembers<T>())>>>;

}  // namespace sonde::cluster::columns::internal
