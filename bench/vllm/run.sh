#!/bin/bash
# Profiling a vLLM server: time a token, time of the stop and memory, beside vLLM's own profiler in the same run.
# Usage: run.sh BUILD_FOLDER [options of bench.py], or run.sh BUILD_FOLDER stress [options of stress.py],
# or run.sh BUILD_FOLDER one_process [options of one_process.py], where SHAPE names the model's shape (tiny), or
# run.sh BUILD_FOLDER client_times [options of client_times.py]: what clients see of it.
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
if [ "${1:-}" = one_process ]; then
  shift
  "$python" "$root/examples/vllm/make_model.py" "$work/model" --shape "${SHAPE:-tiny}" 2> /dev/null
  # Attached and waiting for a step that never comes.
  PYTHONPATH="$root/bench/overhead" VLLM_LOGGING_LEVEL=ERROR "$build/bin/sonde" run --no-analyse \
    --profile-step-start 1000000000 --profile-save-path "$work/out" -- "$python" \
    "$root/bench/vllm/one_process.py" --model "$work/model" --work "$work" "$@" 2> "$work/log" || { cat "$work/log"; exit 1; }
  exit 0
fi
program=bench
if [ "${1:-}" = stress ] || [ "${1:-}" = client_times ]; then
  program="$1"
  shift
fi
PYTHONPATH="$root/tools" python3 "$root/bench/vllm/$program.py" --sonde "$build/bin/sonde" --python "$python" \
  --work "$work" "$@"
