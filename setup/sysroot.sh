#!/bin/bash
# sysroot.sh CPU: put the libraries that binaries for another processor are made of into <cache>/sysroot-<digest>/CPU, and
# print that folder. They are Debian 12's packages for that processor (group sysroot of packages.txt), unpacked and not
# installed; the compiler and the C library come with Debian's cross compiler (group cross).
source "$(dirname "$0")/common.sh"

cpu=${1:-}
[ "$cpu" = aarch64 ] || fail "usage: sysroot.sh aarch64"
packages=$(awk '$1 == "sysroot" { print $2 }' "$setup_dir/packages.txt")
key=$(printf '%s\n' "$packages" | cat - "$setup_dir/sysroot.sh" | digest -)
target="$cache_dir/sysroot-$key/$cpu"
if [ -e "$target/complete" ]; then
  printf '%s\n' "$target"
  exit 0
fi
"$setup_dir/debian.sh" cross
lock_cache
if [ -e "$target/complete" ]; then
  printf '%s\n' "$target"
  exit 0
fi
need_space 1 "the libraries for $cpu"
say "fetching Debian's libraries for $cpu (20 MB to load, 250 MB on disk, some seconds)"

work=$(mktemp -d "$cache_dir/sysroot-tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/packages" "$work/result"
: >"$work/status"
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$work/state"
  -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=)
"${apt[@]}" update >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail "apt-get could not list packages for $cpu"; }
# shellcheck disable=SC2086 # a word a package
(cd "$work/packages" && "${apt[@]}" download $packages >"$work/log" 2>&1) ||
  { tail -n 5 "$work/log" >&2; fail "apt-get could not load packages for $cpu"; }
for package in "$work"/packages/*.deb; do
  dpkg-deb --extract "$package" "$work/result"
done
rm -rf "$target"
mkdir -p "$(dirname "$target")"
mv "$work/result" "$target"
touch "$target/complete"
printf '%s\n' "$target"
