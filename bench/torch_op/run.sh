#!/bin/bash
# Added time per PyTorch operator while recording, beside torch.profiler. Usage: run.sh BUILD_FOLDER [ROUNDS]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
rounds="${2:-40}"
exec env PRESET="$(basename "$build")" "$("$root/setup/python.sh" torch)" "$root/bench/torch_op/bench.py" "$rounds"
