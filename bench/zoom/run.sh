#!/bin/bash
# Viewports of a timeline of 10 million slices at every zoom, alone and beside slow SQL, and reopening.
# Usage: run.sh BUILD_FOLDER [SLICES]
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
exec "${1:-$root/build/release}/bin/sonde_zoom_bench" "${2:-10000000}"
