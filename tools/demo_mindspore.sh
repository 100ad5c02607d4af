#!/bin/bash
# demo_mindspore.sh PRESET: a MindSpore program under Sonde: times of three modes, values of one step, and the comparison with its
# PyTorch twin in numbers. `make demo-mindspore` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/build/$1/bin:$PATH"
mindspore=$(setup/python.sh mindspore)
torch=$(setup/python.sh torch)
export OMP_NUM_THREADS=1 GLOG_v=3

show() {
  local words="${*/#$mindspore/python3}"
  printf '\n$ %s\n' "${words/#$torch/python3}"
  "$@"
}

rm -rf demo-mindspore
mkdir demo-mindspore
for mode in pynative jit graph; do
  show sonde run --profile-level level1 --profile-with-memory --profile-with-stack \
    --profile-save-path "demo-mindspore/$mode" -- "$mindspore" examples/mindspore/tiny_decoder.py --mode "$mode"
done
spans=(demo-mindspore/pynative/*_ascend_ms)
show sonde query "${spans[0]}" \
  "SELECT op_type, count(*) AS launches, sum(dur) / 1000 AS us FROM device_task GROUP BY 1 ORDER BY 3 DESC LIMIT 8"
show sonde compare -d demo-mindspore/graph -bp demo-mindspore/pynative -o demo-mindspore/compared

for side in mindspore torch; do
  printf '{"task": "statistics", "level": "L0", "step": [0], "dump_path": "%s/demo-mindspore/%s"}\n' "$PWD" "$side" \
    >"demo-mindspore/$side.json"
done
show sonde run --dump-config demo-mindspore/mindspore.json -- "$mindspore" examples/mindspore/tiny_decoder.py --steps 1
show sonde run --dump-config demo-mindspore/torch.json -- "$torch" examples/mindspore/tiny_decoder_torch.py --steps 1
show sonde probe compare -tp demo-mindspore/mindspore -gp demo-mindspore/torch -o demo-mindspore/values -cm
