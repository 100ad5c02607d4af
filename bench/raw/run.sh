#!/bin/bash
# Import of raw records of a device: speed and memory with one processor and two, and reading and writing apart where the
# benchmarks are built (-DSONDE_BUILD_BENCH=ON). Usage: run.sh BUILD_FOLDER [MEGABYTES...]
# default 100 and 500 MB; needs three times that in TMPDIR
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
shift "$(($# < 1 ? $# : 1))"
sizes=("$@")
[ "${#sizes[@]}" -gt 0 ] || sizes=(100 500)
exec python3 "$root/bench/raw/bench.py" --binary "$build/bin/sonde" --megabytes "${sizes[@]}"
