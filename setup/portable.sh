#!/bin/bash
# portable.sh: make what binaries for older machines are linked with, in <cache>/portable-<digest>/<cpu>, and print that
# folder. cmake/SondePortable.cmake uses it for the release preset. `SONDE_CPU=aarch64 portable.sh`: for that processor.
#   glibc/  the functions that glibc 2.28 has, to link with (no code; zig makes them), its start-up code, and what newer
#           headers and libstdc++ need besides (portable/old_glibc.c)
#   lib/, include/  libraries of which Debian has shared ones alone, as archives, of Debian's own sources; notices/: theirs
# The pinned versions stand in portable.lock.
source "$(dirname "$0")/common.sh"

glibc=2.28
cpu=${SONDE_CPU:-$(uname -m)}
key=$(cat "$setup_dir/portable.lock" "$setup_dir/portable.sh" "$setup_dir/portable/old_glibc.c" | digest -)
target="$cache_dir/portable-$key/$cpu"
if [ ! -e "$target/complete" ]; then
  lock_cache
fi
if [ -e "$target/complete" ]; then
  printf '%s\n' "$target"
  exit 0
fi
case "$cpu" in
  x86_64) loader=ld-linux-x86-64.so.2 ;;
  aarch64) loader=ld-linux-aarch64.so.1 ;;
  *) fail "portable.lock pins nothing for $cpu: configure with -DSONDE_PORTABLE=OFF" ;;
esac
compiler=cc archiver=ar cmake_options=()
if [ "$cpu" != "$(uname -m)" ]; then
  compiler="$cpu-linux-gnu-gcc" archiver="$cpu-linux-gnu-ar"
  cmake_options=(-DCMAKE_TOOLCHAIN_FILE="$setup_dir/../cmake/toolchains/$cpu.cmake")
fi
[ -e /etc/apt/sources.list.d/debian.sources ] || [ -e /etc/apt/sources.list ] ||
  fail "portable binaries are made on Debian 12: configure with -DSONDE_PORTABLE=OFF"
need_space 2 "the libraries for portable binaries"
say "making the libraries for portable binaries (125 MB to load, 5 MB on disk, about a minute)"

work=$(mktemp -d "$cache_dir/portable-tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT

# pinned NAME FIELD: that field of its line in portable.lock.
pinned() { awk -v name="$1" -v field="$2" '$1 !~ /^#/ && $2 == name { print $field }' "$setup_dir/portable.lock"; }

# check NAME FILE
check() {
  printf '%s  %s\n' "$(pinned "$1" 4)" "$2" | sha256sum --check --status ||
    fail "$1 $(pinned "$1" 3) is not the pinned one: its SHA-256 differs from portable.lock"
}

# Stub libraries of the C library: zig writes them into its cache when it links a program.
make_stubs() {
  local out="$work/result/glibc" name
  mkdir -p "$out" "$work/zig"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
    "ziglang==$(pinned ziglang 3)" >"$work/pip.log" 2>&1 || { tail -n 5 "$work/pip.log" >&2; fail "pip could not load ziglang"; }
  check ziglang "$work"/ziglang-*.whl
  python3 -m zipfile -e "$work"/ziglang-*.whl "$work/zig"
  chmod +x "$work/zig/ziglang/zig"
  printf 'int main(void) { return 0; }\n' >"$work/empty.c"
  ZIG_GLOBAL_CACHE_DIR="$work/zig/cache" ZIG_LOCAL_CACHE_DIR="$work/zig/cache" \
    "$work/zig/ziglang/zig" cc -target "$cpu-linux-gnu.$glibc" -O2 -fPIE -pie -rtlib=none "$work/empty.c" -o "$work/empty" \
    -lm -ldl -lpthread -lrt >"$work/zig.log" 2>&1 || { tail -n 5 "$work/zig.log" >&2; fail "zig could not make glibc $glibc"; }
  cp "$work"/zig/cache/o/*/lib*.so.* "$work"/zig/cache/o/*/libc_nonshared.a "$work"/zig/cache/o/*/Scrt1.o "$out"
  mv "$out/libld.so.2" "$out/$loader"
  "$compiler" -O2 -fPIC -c "$setup_dir/portable/old_glibc.c" -o "$work/old_glibc.o"
  "$archiver" rcD "$out/libold_glibc.a" "$work/old_glibc.o"
  # Whatever names one of them gets them all: in newer releases they are one library.
  printf 'GROUP ( %s ) INPUT ( AS_NEEDED ( %s ) )\n' "libc.so.6 libc_nonshared.a libold_glibc.a" \
    "libpthread.so.0 libm.so.6 libdl.so.2 librt.so.1 $loader" >"$out/libc.so"
  for name in m pthread dl rt; do cp "$out/libc.so" "$out/lib$name.so"; done
}

# debian_source NAME: its source, as Debian 12 has it, into $work/NAME.
debian_source() {
  local lists="$work/apt" options
  options=(-q -o Dir::State="$lists" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$lists/cache"
    -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$lists/sources" -o Debug::NoLocking=1 -o APT::Sandbox::User=)
  if [ ! -d "$lists" ]; then
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$lists/sources"
    if [ -e /etc/apt/sources.list.d/debian.sources ]; then
      sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$lists/sources/debian.sources"
    else
      sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$lists/sources/debian.list"
    fi
    apt-get "${options[@]}" update >"$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log" >&2; fail "apt-get could not list sources"; }
  fi
  mkdir -p "$work/$1"
  (cd "$work" && apt-get "${options[@]}" source --download-only "$1") >"$work/apt.log" 2>&1 ||
    { tail -n 5 "$work/apt.log" >&2; fail "apt-get could not load the source of $1"; }
  check "$1" "$work/$1_$(pinned "$1" 3).orig.tar."*
  tar -xf "$work/$1_$(pinned "$1" 3).orig.tar."* -C "$work/$1" --strip-components=1
  mkdir -p "$work/result/notices"
  cp "$work/$1"/L[Ii][Cc][Ee][Nn][Ss][Ee].txt "$work/result/notices/$1"
}

make_xlsxwriter() {
  local source="$work/libxlsxwriter" out="$work/result" file
  debian_source libxlsxwriter
  mkdir -p "$source/objects" "$out/lib/pkgconfig" "$out/include"
  # As Debian: temporary files by tmpfile(), MD5 of its own.
  for file in "$source"/src/*.c "$source"/third_party/minizip/{ioapi,zip}.c "$source"/third_party/{md5/md5,dtoa/emyg_dtoa}.c; do
    printf '%s\0' "$file"
  done | xargs -0 -P "$(nproc)" -I{} sh -c \
    '"$3" -O2 -fPIC -DUSE_STANDARD_TMPFILE -DUSE_DTOA_LIBRARY -ffile-prefix-map="$1"=. -I"$1/include" -c "$2" \
       -o "$1/objects/$(basename "$2" .c).o" 2>>"$1/log"' sh "$source" {} "$compiler" ||
    { tail -n 5 "$source/log" >&2; fail "libxlsxwriter could not be compiled"; }
  "$archiver" rcD "$out/lib/libxlsxwriter.a" "$source"/objects/*.o
  cp -r "$source/include/." "$out/include"
  printf 'Name: xlsxwriter\nDescription: files for Excel\nVersion: %s\nLibs: -L${pcfiledir}/.. -lxlsxwriter\nLibs.private: -lz\nCflags: -I${pcfiledir}/../../include\n' \
    "$(pinned libxlsxwriter 3)" >"$out/lib/pkgconfig/xlsxwriter.pc"
}

make_tbb() {
  local source="$work/onetbb"
  debian_source onetbb
  { cmake -S "$source" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DTBB_TEST=OFF \
      -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON -DTBB_DIR= \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$source=. -fvisibility=hidden" \
      -DCMAKE_INSTALL_PREFIX="$work/result" -DCMAKE_INSTALL_LIBDIR=lib \
      "${cmake_options[@]}" &&
    cmake --build "$source/build" && cmake --install "$source/build"; } >"$work/tbb.log" 2>&1 ||
    { tail -n 5 "$work/tbb.log" >&2; fail "TBB could not be compiled"; }
}

mkdir -p "$work/result"
make_stubs
make_xlsxwriter
make_tbb
rm -rf "$target"
mkdir -p "$(dirname "$target")"
mv "$work/result" "$target"
touch "$target/complete"
printf '%s\n' "$target"
