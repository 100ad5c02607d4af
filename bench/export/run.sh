#!/bin/bash
# From stop to complete deliverables: microseconds an operator, beside what torch.profiler takes from its stop to its
# trace file in the same run. Usage: run.sh BUILD_FOLDER [OPERATORS]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
ops="${2:-300000}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python="$("$root/setup/python.sh" torch)"
exec "$python" "$root/bench/export/bench.py" --bench "$build/bin/sonde_export_bench" --ops "$ops" --work "$work"
