#!/bin/bash
# Profiling a vLLM server: time a token, time of the stop and memory, beside vLLM's own profiler in the same run.
# Usage: run.sh BUILD_FOLDER [options of bench.py]. Skipped where no vLLM is installed (make test-vllm installs one).
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
PYTHONPATH="$root/tools" exec python3 "$root/bench/vllm/bench.py" --sonde "$build/bin/sonde" --python "$python" \
  --work "$work" "$@"
