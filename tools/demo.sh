#!/bin/bash
# demo.sh FOLDER_OF_SONDE | --wheel FILE: trains the small GPT on two ranks under Sonde and shows what Sonde found. `make demo` runs it.
# OPEN=0 names the page and does not open it. build/transcripts/demo.txt keeps each command and what it printed, for the documents.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(setup/python.sh torch)
if [ "$1" = --wheel ]; then
  rm -rf build/demo-wheel
  python3 -m venv build/demo-wheel
  build/demo-wheel/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps "$2"
  bin=build/demo-wheel/bin
else
  bin=$1
fi
export PATH="$PWD/$bin:$PATH"
export OMP_NUM_THREADS=1 # as torchrun would choose, without its warning

rm -rf demo
transcript=build/transcripts/demo.txt
mkdir -p "$(dirname "$transcript")"
: >"$transcript"
show() {
  { printf '\n$ %s\n' "${*/#$python/python3}" && "$@" 2>&1; } | tee -a "$transcript"
}

# Findings of all ranks, a line each; nothing where there is none.
findings() {
  sonde query demo --format json -o "$transcript.json" "SELECT DISTINCT severity || ': ' || message AS line FROM finding
    WHERE severity <> 'info' ORDER BY line" 2>"$transcript.err" || { cat "$transcript.err" >&2 && return 1; }
  python3 -c 'import json, sys
for row in json.load(open(sys.argv[1])):
    print("  " + row["line"])' "$transcript.json"
  rm -f "$transcript.json" "$transcript.err"
}

record=(--profile-step-start 2 --profile-step-end 8 --profile-level level1 --profile-with-memory
  --profile-record-shapes --profile-save-path demo --no-analyse)
training=(-m torch.distributed.run --standalone --nproc_per_node=2 examples/train_tiny_gpt.py --steps 10)

show sonde run "${record[@]}" -- "$python" "${training[@]}"
show sonde analyse demo

found=$(findings)
if [ -n "$found" ]; then
  printf '\nFindings\n%s\n' "$found"
else
  printf '\nFindings: nothing unusual found\n'
fi

if [ "${OPEN:-1}" = 0 ]; then
  printf '\nThe page: %s/sonde view demo    (prints its address, http://127.0.0.1:PORT/?token=...)\n' "$bin"
else
  printf '\nThe page: %s/sonde view demo    (its address follows)\n' "$bin"
  open=()
  [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || open=(--open)
  sonde view demo "${open[@]}"
fi
