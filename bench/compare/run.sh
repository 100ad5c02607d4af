#!/bin/bash
# Comparison and advice beside msprof-analyze: processor seconds of all processes, seconds, memory.
# Usage: run.sh BUILD_FOLDER SHARED_DATA [REPEATS]    needs the compat environment, 2 GB in TMPDIR
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
data="${2:-$root/../shared/data}"
peer="$(dirname "$("$root/setup/python.sh" compat)")/msprof-analyze"
exec python3 "$root/bench/compare/bench.py" --binary "$build/bin/sonde" --peer "$peer" \
  --data "$data" --repeats "${3:-3}" "${@:4}"
