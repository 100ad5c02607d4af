#!/bin/bash
# SQL over a job of many small ranks, and over one of a few large ones: seconds, memory, cache, open files.
# Usage: run.sh BUILD_FOLDER [RANKS] [MEGABYTES]    default 1000 ranks, and 8 ranks of 100 MB; needs 3 GB in TMPDIR
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
exec python3 "$root/bench/job/bench.py" --binary "$build/bin/sonde" --ranks "${2:-1000}" \
  --megabytes "${3:-100}"
