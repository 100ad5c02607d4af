#!/bin/bash
# Comparing dumps: time and memory beside the reference. Usage: run.sh BUILD_FOLDER [options of bench.py]
# The reference (mindstudio-probe 26.2.0) is timed, too, where MSPROBE names its command.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
shift || true
data="${SONDE_SHARED_DATA:-$root/../shared/data}"
if [ ! -d "$data/precision/resnet50_gpu_mix" ]; then
  echo "skipped: no reference data at $data (SONDE_SHARED_DATA)"
  exit 0
fi
python="$("$root/setup/python.sh" torch)"
exec "$python" "$root/bench/precision/bench.py" --sonde "$build/bin/sonde" --data "$data" \
  ${MSPROBE:+--reference "$MSPROBE"} "$@"
