# Shared by the set-up scripts: folders, messages, the set-up lock.
set -euo pipefail

setup_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache_dir="${XDG_CACHE_HOME:-$HOME/.cache}/sonde"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

# First 12 hex digits of the SHA-256 of a file: the key of whatever is made from it.
digest() { sha256sum "$1" | cut -c1-12; }

# The Python with which setup/lock.py resolves: that of Debian 12.
locked_python=3.11

# install_requirements PYTHON FILE.txt [--no-deps]: what the list asks for, into the environment of that Python: by hash as
# FILE.lock has it, or by version alone with another Python, for which other packages may be needed.
install_requirements() {
  local version
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if [ "$version" = "$locked_python" ]; then
    "$1" -m pip install --quiet --disable-pip-version-check --no-cache-dir "${@:3}" --require-hashes \
      -r "${2%.txt}.lock" >&2
  else
    "$1" -m pip install --quiet --disable-pip-version-check --no-cache-dir "${@:3}" -r "$2" >&2
  fi
}

# Hold the set-up lock until this script ends, so that two runs do not make the same folder.
lock_cache() {
  mkdir -p "$cache_dir" 2>/dev/null || fail "cannot write $cache_dir; set XDG_CACHE_HOME to a folder of yours"
  exec 9>"$cache_dir/.lock"
  flock -n 9 || { say "waiting for another set-up to finish" && flock 9; }
}

# need_space GIB WHAT: refuse early when the cache folder's disk is too full.
need_space() {
  local free_gib
  free_gib=$(df -P -BG "$cache_dir" | awk 'NR == 2 { sub("G", "", $4); print $4 }')
  [ "$free_gib" -ge "$1" ] || fail "$2 needs $1 GiB in $cache_dir, only $free_gib GiB are free"
}
