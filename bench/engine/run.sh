#!/bin/bash
# Cluster modes by parts, shares and engines beside one process: processor seconds of all processes, on copies of a real set.
# Usage: run.sh BUILD_FOLDER SHARED_DATA [RANKS] [REPEATS]    needs root (a control group) and the engine environment
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
data="${2:-$root/../shared/data}"
exec python3 "$root/bench/engine/bench_engine.py" --binary "$build/bin/sonde" --python "$("$root/setup/python.sh" engine)" \
  --set "$data/ascend_pt/synth8_tp_pp_dp" --ranks "${3:-64}" --repeats "${4:-3}"
