#!/bin/bash
# duckdb.sh: fetch DuckDB's shared library and C header, as duckdb.lock pins them, into
# <cache>/duckdb-<digest of duckdb.lock and bind_library.py>/{lib,include}, with the library's references to itself
# bound (bind_library.py), and its licence. cmake/FindDuckDB.cmake looks there. `duckdb.sh --where` prints the folder.
# For another processor (`SONDE_CPU=aarch64 duckdb.sh`) the folder ends in its name.
source "$(dirname "$0")/common.sh"

lock_file="$setup_dir/duckdb.lock"
binder="$setup_dir/bind_library.py"
cpu=${SONDE_CPU:-$(uname -m)}
target="$cache_dir/duckdb-$(cat "$lock_file" "$binder" | digest -)"
[ "$cpu" = "$(uname -m)" ] || target+="-$cpu"
if [ "${1:-}" = --where ]; then
  printf '%s\n' "$target"
  exit 0
fi
is_complete() { [ -e "$target/lib/libduckdb.so" ] && [ -e "$target/include/duckdb.h" ] && [ -e "$target/LICENSE" ]; }
is_complete && exit 0

lock_cache
is_complete && exit 0
need_space 1 "DuckDB"
grep -q "^library *$cpu " "$lock_file" ||
  fail "duckdb.lock pins no DuckDB for $cpu: install DuckDB (library and duckdb.h) and set DuckDB_ROOT"
# A header of another version declares functions that the library lacks, or hides those that it has.
versions=$(awk -v cpu="$cpu" '$1 == "library" && $2 == cpu || $1 == "header" { sub("-r.*", "", $4); print $4 }' "$lock_file" | sort -u)
[ "$(wc -l <<<"$versions")" = 1 ] || fail "duckdb.lock has a library and a header of different versions: $(paste -sd' ' <<<"$versions")"
npm=$("$setup_dir/npm.sh")
say "fetching DuckDB's library from npm and its header from PyPI (42 MB to load, 71 MB on disk, a few seconds)"

work=$(mktemp -d "$cache_dir/duckdb-tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/result/lib" "$work/result/include"

# fetch NAME VERSION SHA512 FILE_IN_PACKAGE TO
fetch() {
  local package
  package=$(cd "$work" && PATH="$(dirname "$npm"):$PATH" "$npm" pack --silent "$1@$2" 2>"$work/npm.log") || {
    tail -n 5 "$work/npm.log" >&2
    fail "npm could not load $1@$2"
  }
  package=$(tail -n 1 <<<"$package")
  printf '%s  %s\n' "$3" "$work/$package" | sha512sum --check --status ||
    fail "$1@$2 is not the pinned package: its SHA-512 differs from duckdb.lock"
  tar -xzf "$work/$package" -C "$work/result/$5" --strip-components="$(tr -dc / <<<"$4" | wc -c)" "$4"
}

while read -r what where name version file sha512; do
  case "$what $where" in
    "library $cpu")
      fetch "$name" "$version" "$sha512" "$file" lib
      fetch "$name" "$version" "$sha512" package/LICENSE .
      ;;
    "header any") python3 "$setup_dir/sdist_file.py" "$name" "$version" "$sha512" "$file" "$work/result/include" ;;
  esac
done <"$lock_file"

library="$work/result/lib/libduckdb.so"
python3 "$binder" "$library" "$library.bound" >"$work/bind.log" 2>&1 || fail "$(tail -n 1 "$work/bind.log")"
mv "$library.bound" "$library"

# A folder of before, without the licence, keeps its files: programs may be compiled with them now.
if [ -e "$target/lib/libduckdb.so" ] && [ -e "$target/include/duckdb.h" ]; then
  mv "$work/result/LICENSE" "$target/LICENSE"
else
  rm -rf "$target"
  mv "$work/result" "$target"
fi
