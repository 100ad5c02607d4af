#!/bin/bash
# lint.sh [JOBS]: all checks of the sources, each to its end; the exit status is 1 if any failed. `make lint` runs it.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs="${1:-$(nproc)}"
failed=()

check() {
  local title="$1" started=$SECONDS
  shift
  echo "== $title"
  "$@" || failed+=("$title")
  echo "   $((SECONDS - started)) s"
}

python=$(setup/python.sh lint) || exit 1
check "format" "$python" tools/check_format.py
check "layers" "$python" tools/check_layers.py
check "sizes" "$python" tools/check_sizes.py
check "files that are made" "$python" tools/check_writes.py
check "output" "$python" tools/check_output.py
check "docs" "$python" tools/check_docs.py
check "words" "$python" tools/check_words.py
check "docs: quoted output, translations" "$python" tools/check_pages.py
check "search paths of libraries" "$python" tools/check_rpaths.py
check "types" "$(dirname "$python")/mypy"
node=$(dirname "$(readlink -f web/node_modules)")/node
web() { (cd web && "$node" "node_modules/$1" "${@:2}"); }
check "page: types" web typescript/bin/tsc --noEmit
check "page: rules" web eslint/bin/eslint.js src e2e
check "page: format" web prettier/bin/prettier.cjs --check --log-level warn .
what=()
[ "${LINT:-changed}" != all ] || what=(--all)
check "headers alone" "$python" tools/check_cpp.py headers "${what[@]}" --jobs "$jobs"
[ "${TIDY:-1}" = 0 ] || check "clang-tidy" "$python" tools/check_cpp.py tidy "${what[@]}" --jobs "$jobs"

if [ "${#failed[@]}" -gt 0 ]; then
  echo "lint: failed: ${failed[*]}"
  exit 1
fi
echo "lint: all checks passed"
