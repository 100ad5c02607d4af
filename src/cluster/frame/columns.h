// Values of structs as columns (store/nested_file.h), for parts that lie in files.
//
// Numbers, enums, texts, optional values, pairs, tuples, arrays, vectors, maps, sets, and structs
// of these without a base and without private members: their members and the names of these are
// found by the compiler, so that a struct needs no list of them, and its columns have its names.
// Pure, any thread. Errors: Take is false where the columns are of another type.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/frame/members.h"
#include "store/nested_file.h"

namespace sonde::cluster::columns {

using store::NestedColumn;
using Kind = NestedColumn::Kind;

// State that is of no use to another process: it is not kept.
template <class T>
struct Own {
  T value{};
};

namespace internal {

template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <class... Args, template <class...> class Of>
inline constexpr bool kIs<Of<Args...>, Of> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, size_t count>
inline constexpr bool kIsArray<std::array<T, count>> = true;
template <class T>
inline constexpr bool kIsTuple = kIs<T, std::pair> || kIs<T, std::tuple>;
template <class T>
inline constexpr bool kIsList =
    kIs<T, std::vector> || kIs<T, std::set> || kIs<T, std::map> || kIsArray<T>;

template <class T>
NestedColumn Empty(std::string name);

template <class T, size_t... index>
std::vector<NestedColumn> EmptyMembers(std::index_sequence<index...>) {
  std::vector<NestedColumn> children;
  const auto add = [&]<class Member>(std::string_view name, Member*) {
    if constexpr (!kIs<Member, Own>) children.push_back(Empty<Member>(std::string(name)));
  };
  if constexpr (kIsTuple<T>) {
    (add(std::string(1, static_cast<char>('a' + index)),
         static_cast<std::tuple_element_t<index, T>*>(nullptr)),
     ...);
  } else {
    (add(MemberName<T, index>(), static_cast<MemberType<T, index>*>(nullptr)), ...);
  }
  return children;
}

template <class T>
struct Element {
  using Type = typename T::value_type;
};
template <class K, class V>
struct Element<std::map<K, V>> {
  using Type = std::pair<K, V>;
};

// A column for values of this type, with none.
template <class T>
NestedColumn Empty(std::string name) {
  NestedColumn column;
  if constexpr (kIs<T, std::optional>) {
    return Empty<typename T::value_type>(std::move(name));
  } else if constexpr (std::is_floating_point_v<T>) {
    column.kind = Kind::kDouble;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    column.kind = Kind::kUint;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    column.kind = Kind::kInt;
  } else if constexpr (std::is_same_v<T, std::string>) {
    column.kind = Kind::kText;
  } else if constexpr (kIsList<T>) {
    column.kind = Kind::kList;
    column.children.push_back(Empty<typename Element<T>::Type>("element"));
  } else {
    column.kind = Kind::kStruct;
    if constexpr (kIsTuple<T>) {
      column.children = EmptyMembers<T>(std::make_index_sequence<std::tuple_size_v<T>>());
    } else {
      column.children = EmptyMembers<T>(std::make_index_sequence<CountMembers<T>()>());
    }
  }
  column.name = std::move(name);
  return column;
}

template <class T>
void PutMembers(const T& value, NestedColumn& column);
template <class T>
bool TakeMembers(const NestedColumn& column, size_t row, T& value);

}  // namespace internal

// A column for values of this type, with none.
template <class T>
NestedColumn Empty(std::string name) {
  return internal::Empty<T>(std::move(name));
}

// Appends the value to a column that Empty<T> made.
template <class T>
void Put(const T& value, NestedColumn& column) {
  using internal::kIs;
  if constexpr (kIs<T, std::optional>) {
    if (value) {
      Put(*value, column);
    } else {
      Put(typename T::value_type{}, column);
      column.nulls.resize(column.size, 0);
      column.nulls.back() = 1;
    }
    if (!column.nulls.empty()) column.nulls.resize(column.size, 0);
    return;
  } else if constexpr (std::is_floating_point_v<T>) {
    column.doubles.push_back(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    column.ints.push_back(static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    column.texts.push_back(value);
  } else if constexpr (internal::kIsList<T>) {
    NestedColumn& elements = column.children.front();
    for (const auto& one : value) {
      if constexpr (kIs<T, std::map>) {
        Put(std::pair(one.first, one.second), elements);
      } else {
        Put<typename T::value_type>(one, elements);
      }
    }
    column.ends.push_back(elements.size);
  } else {
    internal::PutMembers(value, column);
  }
  ++column.size;
}

// False where the column is of another type, or has no such row.
template <class T>
bool Take(const NestedColumn& column, size_t row, T& value) {
  using internal::kIs;
  if (row >= column.size) return false;
  if constexpr (kIs<T, std::optional>) {
    value.reset();
    if (!column.nulls.empty() && column.nulls[row] != 0) return true;
    return Take(column, row, value.emplace());
  } else if constexpr (std::is_floating_point_v<T>) {
    if (column.kind != Kind::kDouble) return false;
    value = static_cast<T>(column.doubles[row]);
    return true;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    if (column.kind != Kind::kInt && column.kind != Kind::kUint) return false;
    value = static_cast<T>(column.ints[row]);
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (column.kind != Kind::kText) return false;
    value = column.texts[row];
    return true;
  } else if constexpr (internal::kIsList<T>) {
    if (column.kind != Kind::kList) return false;
    const uint64_t begin = row == 0 ? 0 : column.ends[row - 1];
    const uint64_t end = column.ends[row];
    if constexpr (internal::kIsArray<T>) {
      if (end - begin != value.size()) return false;
      for (uint64_t i = begin; i < end; ++i) {
        if (!Take(column.children.front(), i, value[i - begin])) return false;
      }
    } else {
      value.clear();
      for (uint64_t i = begin; i < end; ++i) {
        typename internal::Element<T>::Type one{};
        if (!Take(column.children.front(), i, one)) return false;
        value.insert(value.end(), std::move(one));
      }
    }
    return true;
  } else {
    return column.kind == Kind::kStruct && internal::TakeMembers(column, row, value);
  }
}

namespace internal {

template <class T>
void PutMembers(const T& value, NestedColumn& column) {
  size_t next = 0;
  const auto put = [&]<class Member>(const Member& member) {
    if constexpr (!kIs<Member, Own>) Put(member, column.children[next++]);
  };
  const auto put_all = [&](const auto&... members) { (put(members), ...); };
  if constexpr (kIsTuple<T>) {
    std::apply(put_all, value);
  } else {
    VisitMembers(value, put_all);
  }
}

template <class T>
bool TakeMembers(const NestedColumn& column, size_t row, T& value) {
  size_t next = 0;
  const auto take = [&]<class Member>(Member& member) {
    if constexpr (kIs<Member, Own>) {
      return true;
    } else {
      if (next >= column.children.size()) return false;
      return Take(column.children[next++], row, member);
    }
  };
  const auto take_all = [&](auto&... members) { return (take(members) && ...); };
  if constexpr (kIsTuple<T>) {
    return std::apply(take_all, value);
  } else {
    return VisitMembers(value, take_all);
  }
}

}  // namespace internal

// "SlowRankOpRow": the type as people write it, without our namespaces.
template <class T>
constexpr std::string_view TypeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  if (text.find('<') != std::string_view::npos) return text;
  return text.substr(text.rfind(':') + 1);
}

}  // namespace sonde::cluster::columns
