"""Numbers of the page (docs/view.md): run by bench/view/run.sh. One table on standard output."""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

ROOT = Path(__file__).resolve().parents[2]


class Client:
    """Requests over one connection that stays open, as a browser's."""

    def __init__(self, address):
        self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
        self._token = address.query

    def get(self, target):
        return self._answer("GET", target)

    def post(self, target, body):
        return self._answer("POST", target, body.encode())

    def _answer(self, method, target, body=None):
        target = f"{target}{'&' if '?' in target else '?'}{self._token}"
        self._connection.request(method, target, body)
        response = self._connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {target}: {response.status} {text[:200]!r}")
        return text

    def close(self):
        """The next request connects again."""
        self._connection.close()

    def session(self):
        return json.loads(self.get("/api/session"))


@contextmanager
def serve(binary, cache, trace):
    """A server, as (process, client, moment of its start, address)."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [binary, "view", trace],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = urlparse(process.stdout.readline().strip())
        yield process, Client(address), begin, address
    finally:
        process.terminate()
        process.wait()


def wait(client, done):
    while not done(client.session()):
        time.sleep(0.005)
    return time.monotonic()


def has_lanes(session):
    return any(trace["tracks"] for trace in session["traces"])


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def viewports(client, count=2000):
    """Random windows at every zoom over 24 lanes; milliseconds from request to the whole answer."""
    trace = client.session()["traces"][0]
    tracks = sorted((t for t in trace["tracks"] if t["depths"]), key=lambda t: -t["slices"])[:24]
    lanes = ",".join(f"0:{t['id']}:{t['depths']}" for t in tracks)
    choose = random.Random(1)
    span = trace["end"] - trace["begin"]
    times = []
    for _ in range(count):
        width = max(2000, int(span / 2 ** choose.uniform(0, 16)))
        begin = trace["begin"] + int(choose.random() * max(1, span - width))
        pixel = max(1, width // 1600)
        target = f"/api/window?lanes={lanes}&begin={begin}&end={begin + width}&pixel={pixel}"
        start = time.perf_counter()
        client.get(target)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def memory_mb(process):
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def browser(options, *words):
    """What bench/view/page.mjs measured, as an object."""
    command = [options.node, ROOT / "bench/view/page.mjs", *words]
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "WEB": str(ROOT / "web")},
    )
    return json.loads(done.stdout)


def perfetto(options, trace):
    """Seconds that Perfetto's native trace processor takes to read the file and answer once."""
    begin = time.monotonic()
    command = [options.trace_processor, "query", trace, "SELECT count(*) FROM slice"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def row(what, value, wanted=""):
    print(f"| {what} | {value} | {wanted} |", flush=True)


def measure_use(options, process, client, address):
    times = viewports(client)
    row("viewport, end to end: median", f"{percentile(times, 0.5):.2f} ms")
    row("viewport, end to end: p99", f"{percentile(times, 0.99):.2f} ms", "4 ms")
    before = memory_mb(process)
    frames = browser(options, "use", address.geturl(), options.seconds)
    row("frame, from event to painted: p95", f"{frames['script']:.1f} ms", "16 ms")
    row(
        f"between two frames: p50, p95 (an empty page here: {frames['empty']:.1f} ms)",
        f"{frames['p50']:.1f}, {frames['p95']:.1f} ms",
    )
    row("frames that came a screen's beat late", f"{100 * frames['late']:.1f} %")
    row("first frame with lanes after the address is opened", f"{frames['first']:.0f} ms")
    row("renderer", frames["renderer"])
    row(
        f"memory of the server, before and after {options.seconds} s of use",
        f"{before:.0f}, {memory_mb(process):.0f} MB",
        "flat",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--trace-processor", help="Perfetto's trace_processor_shell")
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-view-bench-") as folder:
        trace = Path(folder) / "trace_view.json"
        generate = [ROOT / "bench/import/generate.py", "--shape", "ascend", "--output", trace]
        subprocess.run(
            [sys.executable, *generate, "--megabytes", str(options.megabytes)], check=True
        )
        print(f"| {trace.stat().st_size / 1e6:.0f} MB | measured | wanted |\n|---|---|---|")
        cache = Path(folder) / "cache"
        with serve(options.binary, cache, trace) as (process, client, begin, address):
            row("first lanes", f"{wait(client, has_lanes) - begin:.2f} s", "1 s")
            wait(client, lambda session: not session["loading"])
            took = time.monotonic() - begin
            slices = client.session()["traces"][0]["slices"]
            speed = trace.stat().st_size / 1e6 / took
            row("all imported", f"{took:.1f} s, {slices} slices, {speed:.0f} MB/s")
        with serve(options.binary, cache, trace) as (process, client, begin, address):
            reopened = wait(client, lambda session: not session["loading"]) - begin
            row("reopened", f"{reopened * 1e3:.0f} ms", "300 ms")
            measure_use(options, process, client, address)
        if options.trace_processor:
            row(
                "rival: Perfetto's trace processor, first query",
                f"{perfetto(options, trace):.1f} s",
            )
        whole = browser(options, "whole", trace)
        row("rival: a page that loads the whole JSON", whole["text"])
    size = sum(path.stat().st_size for path in Path(options.page).glob("*.gz"))
    row("page, compressed", f"{size / 1e3:.0f} kB", "2000 kB")
    row("load of the machine", " ".join(f"{load:.1f}" for load in os.getloadavg()))


if __name__ == "__main__":
    main()
