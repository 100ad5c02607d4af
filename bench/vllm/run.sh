#!/bin/bash
# Profiling a vLLM server: time a token, time of the stop and memory, beside vLLM's own profiler in the same run.
# Usage: run.sh BUILD_FOLDER [options of bench.py], or run.sh BUILD_FOLDER stress [options of stress.py].
# Skipped where no vLLM is installed (make test-vllm installs one).
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
shift || true
python="$("$root/setup/python.sh" vllm --if-there)"
if [ -z "$python" ]; then
  echo "skipped: no vLLM (make test-vllm installs one)"
  exit 0
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
program=bench
if [ "${1:-}" = stress ]; then
  program=stress
  shift
fi
PYTHONPATH="$root/tools" python3 "$root/bench/vllm/$program.py" --sonde "$build/bin/sonde" --python "$python" \
  --work "$work" "$@"
