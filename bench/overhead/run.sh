#!/bin/bash
# Overhead of recording a training step, beside torch.profiler. Usage: run.sh BUILD_FOLDER [options of overhead.py]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
shift || true
python="$("$root/setup/python.sh" torch)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
touch "$work/run_list"
# Attached and waiting for a step that never comes: the idle state of `sonde run`.
SONDE_HOME="$build" SONDE_ATTACH=profile SONDE_QUIET=1 SONDE_RUN_LIST="$work/run_list" \
  SONDE_PROFILE_STEP_START=1000000000 SONDE_PROFILE_SAVE_PATH="$work" \
  PYTHONPATH="$root/python/sonde/_inject:$root/examples" \
  "$python" "$root/bench/overhead/overhead.py" --work "$work" "$@"
