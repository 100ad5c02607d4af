#!/bin/bash
# Precision dumps: statistics kernels, a whole model per entry, tensor files, all beside the reference.
# Usage: run.sh BUILD_FOLDER
# The reference (mindstudio-probe 26.2.0) is measured, too, where MSPROBE_PYTHON names an interpreter that has it; a vLLM
# server where SONDE_VLLM_PYTHON names one with vLLM.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
python="${MSPROBE_PYTHON:-$("$root/setup/python.sh" torch)}"
memory=/dev/shm
[ -w "$memory" ] || memory="${TMPDIR:-/tmp}"
work="$(mktemp -d -p "$memory")"
trap 'rm -rf "$work"' EXIT
export SONDE_HOME="$build" PYTHONPATH="$root/python" OMP_NUM_THREADS=1

"$python" "$root/bench/probe/kernels.py"
tools=(sonde)
[ -z "${MSPROBE_PYTHON:-}" ] || tools+=(msprobe)
model() { "$python" "$root/bench/probe/dump_model.py" "$@" 2>/dev/null | tail -n 1; }
model none mix statistics statistics "$work/none"
for tool in "${tools[@]}"; do
  for set in "mix statistics statistics" "L1 statistics statistics" "L0 statistics statistics" "L1 statistics md5" "mix tensor statistics"; do
    read -r level task summary <<<"$set"
    echo "$set: $(model "$tool" "$level" "$task" "$summary" "$work/$tool")"
    rm -rf "${work:?}/$tool"
  done
  "$python" "$root/bench/probe/tensors.py" "$tool" "$work/tensors_$tool"
  rm -rf "${work:?}/tensors_$tool"
  echo "loaded, not dumping: $(model "$tool" mix statistics statistics "$work/$tool" off)"
done
"$python" "$root/bench/probe/tensors.py" plain "$work/tensors"
"$python" "$root/bench/probe/idle.py"
[ -z "${SONDE_VLLM_PYTHON:-}" ] || "$python" "$root/bench/probe/decode.py" "$SONDE_VLLM_PYTHON" "$build"
