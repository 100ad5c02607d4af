#!/bin/bash
# What a range costs, beside LTTng-UST: starts an LTTng session when its tools are there, runs
# record_bench with one and two threads, and ends the session again.
#   bench/record/run.sh [BUILD_FOLDER]        default build/release, made with -DSONDE_BUILD_BENCH=ON
set -eu
build=${1:-build/release}
bench=$build/bin/record_bench
[ -x "$bench" ] || { echo "missing $bench: cmake --preset release -DSONDE_BUILD_BENCH=ON && cmake --build $build --target record_bench" >&2; exit 1; }

trace=$(mktemp -d)
session=sonde_bench_$$
started_daemon=
cleanup() {
  lttng destroy "$session" >/dev/null 2>&1 || true
  [ -z "$started_daemon" ] || kill "$started_daemon" 2>/dev/null || true
  rm -rf "$trace"
}
trap cleanup EXIT
if command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null; then
  export LTTNG_HOME=$trace
  lttng-sessiond --daemonize --no-kernel --pidfile="$trace/sessiond.pid" >/dev/null 2>&1 || true
  [ ! -s "$trace/sessiond.pid" ] || started_daemon=$(cat "$trace/sessiond.pid")
  lttng create "$session" --output="$trace/trace" >/dev/null
  lttng enable-channel --userspace --subbuf-size=4M --num-subbuf=8 --discard range >/dev/null
  lttng enable-event --userspace --channel=range 'sonde_bench:*' >/dev/null
  lttng start "$session" >/dev/null
else
  echo "lttng-tools is not installed: lttng_pair then shows a disabled tracepoint" >&2
fi
for threads in 1 2; do
  echo "-- $threads thread(s)"
  "$bench" --threads "$threads"
done
