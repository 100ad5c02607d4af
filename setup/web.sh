#!/bin/bash
# web.sh: the packages that build and test the page, as web/package-lock.json pins them, into
# <cache>/web-<digest of the lock>/node_modules, to which web/node_modules leads, and `node` in the
# same folder.
source "$(dirname "$0")/common.sh"

web="$(dirname "$setup_dir")/web"
target="$cache_dir/web-$(digest "$web/package-lock.json")"
if [ ! -e "$target/complete" ]; then
  lock_cache
fi
if [ ! -e "$target/complete" ]; then
  need_space 1 "The page's build"
  npm=$("$setup_dir/npm.sh")
  say "fetching the packages that build and test the page from npm (150 MB on disk, some 15 seconds)"
  rm -rf "$target"
  mkdir -p "$target"
  cp "$web/package.json" "$web/package-lock.json" "$web/.npmrc" "$target/"
  (cd "$target" && PATH="$(dirname "$npm"):$PATH" "$npm" ci --silent >npm.log 2>&1) || {
    tail -n 10 "$target/npm.log" >&2
    fail "npm could not install the packages of web/package-lock.json"
  }
  ln -s "$(PATH="$(dirname "$npm"):$PATH" command -v node)" "$target/node"
  touch "$target/complete"
fi
[ "$(readlink "$web/node_modules" 2>/dev/null)" = "$target/node_modules" ] || {
  rm -rf "$web/node_modules"
  ln -s "$target/node_modules" "$web/node_modules"
}
