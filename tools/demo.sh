#!/bin/bash
# demo.sh PRESET: trains the small GPT on two ranks under Sonde and shows what Sonde found. `make demo` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/build/$1/bin:$PATH"
python=$(setup/python.sh torch)
export OMP_NUM_THREADS=1 # as torchrun would choose, without its warning

show() {
  printf '\n$ %s\n' "${*/#$python/python3}"
  "$@"
}

rm -rf demo
record=(--profile-step-start 2 --profile-step-end 8 --profile-level level1 --profile-with-memory
  --profile-record-shapes --profile-save-path demo --no-analyse)
training=(-m torch.distributed.run --standalone --nproc_per_node=2 examples/train_tiny_gpt.py --steps 10)

show sonde run "${record[@]}" -- "$python" "${training[@]}"
show sonde analyse demo

if [ "${OPEN:-1}" != 0 ]; then
  show sonde view demo
else
  printf '\nTo see it on a page: PATH="%s:$PATH" sonde view demo\n' "build/$1/bin"
fi
