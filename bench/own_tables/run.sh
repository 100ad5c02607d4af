#!/bin/bash
# What a program waits for its own key_averages(), under `sonde run` beside torch alone. Usage: run.sh BUILD_FOLDER [CALLS [ROUNDS]]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
exec "$("$root/setup/python.sh" torch)" "$root/bench/own_tables/own_tables.py" \
  --sonde "$build/bin/sonde" --calls "${2:-3000}" --rounds "${3:-3}"
