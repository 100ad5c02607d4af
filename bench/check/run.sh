#!/bin/bash
# Every call of a dump by itself, beside the reference on the same dump. Usage: run.sh BUILD_FOLDER [options of bench.py]
# Needs mindstudio-probe 26.2.0: MSPROBE_PYTHON names a Python that has it with torch, else setup/python.sh fetches one.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
shift || true
python="${MSPROBE_PYTHON:-$("$root/setup/python.sh" msprobe)}"
export SONDE_HOME="$build" PYTHONPATH="$root/python"
exec "$python" "$root/bench/check/bench.py" --sonde "$build/bin/sonde" --python "$python" "$@"
