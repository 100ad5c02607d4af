#!/bin/bash
# Cluster modes beside msprof-analyze: processor seconds of all processes, on copies of a real set.
# Usage: run.sh BUILD_FOLDER SHARED_DATA [REPEATS]    needs the compat environment, 1 GB in TMPDIR
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
data="${2:-$root/../shared/data}"
peer="$(dirname "$("$root/setup/python.sh" compat)")/msprof-analyze"
exec python3 "$root/bench/cluster/bench.py" --binary "$build/bin/sonde" --peer "$peer" \
  --set "$data/ascend_pt/synth8_tp_pp_dp" --repeats "${3:-3}"
