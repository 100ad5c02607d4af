#!/bin/bash
# The longest kernels of one rank and over all of a lake of many ranks. Usage: run_lake.sh BUILD_FOLDER SHARED_DATA [RANKS] [REPEATS]
# needs the engine environment (its DuckDB); a rank takes some 25 files without blocks of their own.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
data="${2:-$root/../shared/data}"
exec "$("$root/setup/python.sh" engine)" "$root/bench/engine/bench_lake.py" --binary "$build/bin/sonde" \
  --set "$data/ascend_pt/synth8_tp_pp_dp" --ranks "${3:-10000}" --repeats "${4:-5}"
