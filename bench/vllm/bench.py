"""Sonde and vLLM's own profiler on the same server program, the same model, the same requests.

Two servers run at once, one with each profiler, and take turns request by request, so that what
else the machine does meets both. A session is one request of TOKENS tokens; "off" is the same
request while nothing is recorded. Times are medians over the rounds; memory is the resident size
of the worker. vLLM's stop makes its files; Sonde's come after it, "files" is when they are there.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

from vllm_server import Server

ROOT = Path(__file__).resolve().parent.parent.parent
PROMPT = "def main():\n    import os\n"
TOKENS = 64
SPIN_S = 1.5  # the other server's worker polls for a second after its last message
# Name, switches of `sonde run`, fields of vLLM's configuration.
KINDS = (
    ("plain", ["--profile-level", "level0"], {"torch_profiler_with_stack": False}),
    (
        "shapes",
        ["--profile-level", "level1", "--profile-record-shapes"],
        {"torch_profiler_with_stack": False, "torch_profiler_record_shapes": True},
    ),
    ("stacks", ["--profile-with-stack"], {"torch_profiler_with_stack": True}),
)


def worker_memory(server):
    """Resident megabytes of the largest process below the server: the worker."""
    listing = subprocess.run(["ps", "-e", "-o", "pgid=,rss="], capture_output=True, text=True,
                             check=True).stdout  # fmt: skip
    sizes = [int(size) for group, size in map(str.split, listing.splitlines())
             if int(group) == server.process.pid]  # fmt: skip
    return max(sizes, default=0) / 1024


def request_ms(server):
    """Milliseconds a token of one request."""
    started = time.perf_counter()
    server.ask(PROMPT, TOKENS)
    return 1000 * (time.perf_counter() - started) / TOKENS


def session(server, folder):
    """Milliseconds a token, seconds of the stop, seconds until the files are there."""
    before = set(folder.iterdir()) if folder.exists() else set()
    server.profile("start")
    token = request_ms(server)
    stopped = time.perf_counter()
    _, _, stop = server.profile("stop")
    spans = [path for path in set(folder.iterdir()) - before if path.is_dir()]
    while not all((span / "ASCEND_PROFILER_OUTPUT/analyse.done").exists() for span in spans):
        time.sleep(0.02)
    return token, stop, time.perf_counter() - stopped


def measure(arguments, kind, ours, theirs):
    work = arguments.work / kind
    work.mkdir()
    launcher = [arguments.sonde, "run", *ours, "--profile-save-path", work / "sonde", "--"]
    config = {"profiler": "torch", "torch_profiler_dir": str(work / "vllm"), **theirs}
    options = ["--profiler-config", json.dumps(config)]
    rows = {"sonde": [], "vllm": []}
    with Server(arguments.python, work.parent / "model", work / "sonde.log", launcher) as mine, \
         Server(arguments.python, work.parent / "model", work / "vllm.log",
                options=options) as peer:  # fmt: skip
        servers = {"sonde": mine, "vllm": peer}
        memory = {}
        for name, server in servers.items():
            for _ in range(3):
                request_ms(server)
            memory[name] = worker_memory(server)
        for _ in range(arguments.rounds):
            for name, server in servers.items():
                time.sleep(SPIN_S)
                off = request_ms(server)
                rows[name].append((off, *session(server, work / name)))
        for name, server in servers.items():
            memory[name] = worker_memory(server) - memory[name]
    for name, values in rows.items():
        off, token, stop, files = (statistics.median(column) for column in zip(*values))
        print(f"{kind:8} {name:6} {off:8.2f} {token:10.2f} {token / off:6.2f} x {stop:8.3f} "
              f"{files:8.2f} {memory[name]:9.0f}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that has vLLM")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--kinds", nargs="*", default=[kind for kind, _, _ in KINDS])
    arguments = parser.parse_args()
    subprocess.run([arguments.python, ROOT / "examples/vllm/make_model.py",
                    arguments.work / "model"], check=True, capture_output=True)  # fmt: skip
    print("                 off ms/tok  recording          stop s  files s  worker MB")
    for kind, ours, theirs in KINDS:
        if kind in arguments.kinds:
            measure(arguments, kind, ours, theirs)
    print("goals: stop 0.1 s (stacks 0.2), recording 1.05 x (shapes 1.10, stacks 1.25), 64 MB")


if __name__ == "__main__":
    main()
