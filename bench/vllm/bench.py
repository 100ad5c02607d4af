"""Sonde and vLLM's own profiler on the same server program, the same model, the same requests.

Three servers run at once: one under Sonde, one with vLLM's profiler, one with neither ("bare"),
and take turns request by request, so that what else the machine does meets all. A session is one
request of TOKENS tokens; "off" is the same request while nothing is recorded. Times of tokens are
CPU milliseconds of a step in the worker (step_times.py; the machine may be shared), medians;
"held" is the longest time between two steps of another request around start and stop, less the
usual one. Sonde's files come after the stop: "files" is microseconds a slice from the
stop until they are there. Memory is the worker's resident size at the end less before. "long" is
one session of LONG engine steps.
"""

import argparse
import array
import contextlib
import json
import statistics
import subprocess
import threading
import time
from pathlib import Path

from vllm_server import Server

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROMPT = "def main():\n    import os\n"
TOKENS = 64
LONG = 10000
REQUEST = 480  # tokens of one request at most
SPIN_S = 1.2  # the worker polls for a second after its last message
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


def worker_of(server):
    """Process number of the server's worker: by its title."""
    listing = subprocess.run(["ps", "-e", "-o", "pid=,pgid=,args="], capture_output=True,
                             text=True, check=True).stdout  # fmt: skip
    for line in listing.splitlines():
        pid, group, title = line.split(None, 2)
        if int(group) == server.process.pid and "VLLM::Worker" in title:
            return int(pid)
    raise RuntimeError("the server has no worker")


def memory_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no resident size")


def steps_since(server, size):
    """Ends and CPU times of the worker's steps after the first `size` bytes of its file."""
    with server.times.open("rb") as file:
        file.seek(size)
        numbers = array.array("q", file.read())
    return numbers[0::2], numbers[1::2]


def token_ms(server, tokens=TOKENS):
    """CPU milliseconds of the worker for a step of one request: the median of its steps."""
    before = server.times.stat().st_size
    server.ask(PROMPT, tokens)
    return statistics.median(steps_since(server, before)[1]) / 1e6


class Other:
    """Another request, whose steps are looked at while something else goes on. Not its stream:
    the front-end of vLLM, which a tiny model keeps busy, lets one stand still for a second and
    more although nobody profiles anything."""

    def __init__(self, server):
        self._server, self._begin = server, server.times.stat().st_size
        self._thread = threading.Thread(target=server.ask, args=("class ", REQUEST))

    def __enter__(self):
        self._thread.start()
        while self._server.times.stat().st_size < self._begin + 16 * 20 and self._thread.is_alive():
            time.sleep(0.001)
        return self

    def __exit__(self, *_):
        self._thread.join()

    def held_ms(self, begin, end):
        """Longest distance of two steps that touches the time, less the usual one."""
        ends = [ns / 1e9 for ns in steps_since(self._server, self._begin)[0]]
        pairs = list(zip(ends, ends[1:]))
        usual = statistics.median(second - first for first, second in pairs)
        touched = [second - first for first, second in pairs if second >= begin and first <= end]
        return 1000 * (max(touched, default=0) - usual)


def await_files(folder, before):
    """Folders of the captures of ranks that came, once their files are there."""
    spans = [path for path in set(folder.glob("*_ascend_pt")) - before]
    while not all((span / "ASCEND_PROFILER_OUTPUT/analyse.done").exists() for span in spans):
        time.sleep(0.02)
    return spans


def session(server, folder):
    """CPU milliseconds a token, seconds of the stop, of the files, and the captures."""
    before = set(folder.glob("*_ascend_pt"))
    server.profile("start")
    token = token_ms(server)
    _, _, stop = server.profile("stop")
    stopped = time.perf_counter()
    spans = await_files(folder, before)
    return token, stop, time.perf_counter() - stopped, spans


def held(server, folder):
    """Milliseconds that another request stood still at the start and at the stop."""
    before = set(folder.glob("*_ascend_pt"))
    with Other(server) as other:
        started = time.monotonic()
        server.profile("start")
        middle = time.monotonic()
        time.sleep(0.1)
        stopped = time.monotonic()
        server.profile("stop")
        end = time.monotonic()
    await_files(folder, before)
    return other.held_ms(started, middle), other.held_ms(stopped, end)


def query(sonde, span, sql):
    done = subprocess.run([sonde, "query", span, sql, "--format", "json"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    return json.loads(done.stdout)[0]["n"]


def of_captures(sonde, spans, files_s):
    """Microseconds of the files a slice, and bytes of the records an operator."""
    slices = sum(query(sonde, span, "SELECT count(*) AS n FROM slice") for span in spans)
    ops = sum(query(sonde, span, "SELECT count(*) AS n FROM framework_op") for span in spans)
    size = sum(path.stat().st_size for span in spans for path in span.glob("SONDE/*.sonde"))
    return 1e6 * files_s / slices, size / ops


def offer_plugin(work):
    """step_times.py as a plug-in that looks installed."""
    metadata = work / "step_times-0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: step_times\nVersion: 0.0\n")
    (metadata / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nstep_times = step_times:register\n"
    )


def serve(stack, arguments, kind, ours, theirs):
    work = arguments.work / kind
    work.mkdir()
    launcher = [arguments.sonde, "run", *ours, "--profile-save-path", work / "sonde", "--"]
    config = {"profiler": "torch", "torch_profiler_dir": str(work / "vllm"), **theirs}
    common = [] if arguments.shape == "tiny" else ["--dtype", "bfloat16"]
    options = {"sonde": {"launcher": launcher, "options": common}, "bare": {"options": common},
               "vllm": {"options": [*common, "--profiler-config", json.dumps(config)]}}  # fmt: skip
    servers = {}
    for name in arguments.servers:
        (work / name).mkdir(exist_ok=True)
        times = work / f"{name}.times"
        environment = {"PYTHONPATH": f"{HERE}:{arguments.work}", "STEP_TIMES": str(times)}
        server = Server(arguments.python, arguments.model, work / f"{name}.log",
                        environment=environment, **options[name])  # fmt: skip
        servers[name] = stack.enter_context(server)
        server.times = times
        server.worker, server.folder = worker_of(server), work / name
        for _ in range(3):
            token_ms(server)
        server.memory = memory_mb(server.worker)
    return servers


def measure(arguments, kind, ours, theirs):
    with contextlib.ExitStack() as stack:
        servers = serve(stack, arguments, kind, ours, theirs)
        rows = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for name, server in servers.items():
                time.sleep(SPIN_S)
                rows[name].append([token_ms(server)])
            for name in [name for name in servers if name != "bare"]:
                time.sleep(SPIN_S)
                server = servers[name]
                *times, spans = session(server, server.folder)
                rows[name][-1] += times + [max(held(server, server.folder))]
                rows[name][-1] += of_captures(arguments.sonde, spans, times[2]) if spans else ()
        for name, values in rows.items():
            columns = [statistics.median(column) for column in zip(*values)]
            growth = memory_mb(servers[name].worker) - servers[name].memory
            show(kind, name, columns, growth)


def measure_long(arguments, kind, ours):
    """One session of LONG engine steps; its files, of which there would be gigabytes, are not
    made."""
    with contextlib.ExitStack() as stack:
        unparsed = argparse.Namespace(**{**vars(arguments), "servers": ["sonde"]})
        servers = serve(stack, unparsed, f"{kind}_long", [*ours, "--no-analyse"], {})
        server = servers["sonde"]
        off = token_ms(server)
        server.profile("start")
        for _ in range(LONG // REQUEST):
            server.ask(PROMPT, REQUEST)
        token = token_ms(server, LONG % REQUEST)
        _, _, stop = server.profile("stop")
        show(f"{kind}, long", "sonde", [off, token, stop], memory_mb(server.worker) - server.memory)


def show(kind, name, columns, growth):
    names = ("off ms", "on ms", "stop s", "files s", "held ms", "us/slice", "bytes/op")
    reported = [f"{title} {value:.3f}" for title, value in zip(names, columns)]
    if len(columns) > 1 and columns[0]:
        reported.append(f"on/off {columns[1] / columns[0]:.3f}")
    print(f"{kind:13} {name:6} {'  '.join(reported)}  MB {growth:+.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that has vLLM")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--kinds", nargs="*", default=[kind for kind, _, _ in KINDS])
    parser.add_argument("--servers", nargs="*", default=["sonde", "vllm", "bare"])
    parser.add_argument("--shape", default="tiny", help="of the model, as make_model.py has them")
    parser.add_argument("--long", action="store_true", help=f"also a session of {LONG} steps")
    arguments = parser.parse_args()
    arguments.model = arguments.work / "model"
    offer_plugin(arguments.work)
    subprocess.run([arguments.python, ROOT / "examples/vllm/make_model.py", arguments.model,
                    "--shape", arguments.shape], check=True, capture_output=True)  # fmt: skip
    for kind, ours, theirs in KINDS:
        if kind in arguments.kinds:
            measure(arguments, kind, ours, theirs)
            if arguments.long:
                measure_long(arguments, kind, ours)
    print("goals: stop 0.1 s (stacks 0.2, long 1), on/off 1.05 (shapes 1.10, stacks 1.25), sonde's "
          "off/bare's 1.01, held 50 ms, 1 us/slice, 40 bytes/op, 64 MB")  # fmt: skip


if __name__ == "__main__":
    main()
