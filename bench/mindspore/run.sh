#!/bin/bash
# What recording costs a MindSpore program, beside MindSpore's own recorders. Usage: run.sh BUILD_FOLDER [ROUNDS]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
python=$("$root/setup/python.sh" mindspore --if-there)
if [ -z "$python" ]; then
  echo "no MindSpore is installed: make setup-mindspore" >&2
  exit 0
fi
exec env SONDE_HOME="$build" PYTHONPATH="$root/python" OMP_NUM_THREADS=1 GLOG_v=3 "$python" "$root/bench/mindspore/bench.py" "${2:-25}"
