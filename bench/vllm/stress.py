"""Sixteen clients, and a session that starts and stops every ten seconds: nothing may fail, every
session has to be complete, and no process of the server may grow.

Each session is looked at once its files are there, whatever runs then (whole requests, engine steps
that are steps of the rank, nothing dropped), and removed. Before that the same clients ask a server
without Sonde as long, for what its processes grow by themselves. Exit status 1 where something was
not as it should.
"""

import argparse
import json
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vllm_server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENTS = 16
PERIOD_S, RECORDED_S = 10, 5
GROWTH_MB = 64  # more than without Sonde
LATEST_S = 600  # until the files of a session are there, beside sixteen clients


class Clients:
    """Threads that send requests until they are asked to end."""

    def __init__(self, server):
        self._server, self._ends = server, threading.Event()
        self.answers, self.problems = 0, []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]

    def _ask(self, number):
        while not self._ends.is_set():
            try:
                self._server.ask(f"def f{number}(x):\n    ", 16 + 4 * number)
                with self._lock:
                    self.answers += 1
            except (ServerError, OSError) as problem:
                self.problems.append(str(problem).splitlines()[0])
                return

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()


def memory_mb(server):
    """Resident megabytes of the server's processes by title."""
    listing = subprocess.run(["ps", "-e", "-o", "pgid=,rss=,args="], capture_output=True,
                             text=True, check=True).stdout  # fmt: skip
    sizes = {}
    for line in listing.splitlines():
        group, size, title = line.split(None, 2)
        if int(group) == server.process.pid:
            name = title.split()[0] if title.startswith("VLLM::") else "API server"
            sizes[name] = max(sizes.get(name, 0), int(size) / 1024)
    return sizes


def rows(sonde, path, sql):
    done = subprocess.run([sonde, "query", path, sql, "--format", "json"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    return json.loads(done.stdout)


def look_at(sonde, span, server, number):
    """What is wrong with a session; waits for its files."""
    (session,) = span.parent.glob(f"server_*_{number}")
    for path in (session, span):
        word = "served" if path is session else "parsed"
        end = time.monotonic() + LATEST_S
        while f"{word}: {path}" not in server.log.read_text(errors="replace"):
            if time.monotonic() > end:
                return [f"{path.name} was never {word}"]
            time.sleep(0.5)
    (reported,) = rows(sonde, session, "SELECT count(*) AS n, sum(is_whole) AS whole FROM request")
    engine, both = (rows(sonde, session, sql)[0]["n"] for sql in (
        "SELECT count(*) AS n FROM engine_step WHERE dur >= 0",
        "SELECT count(*) AS n FROM engine_step e JOIN step s ON s.step_id = e.step_id "
        "JOIN process p ON p.process_id = s.process_id WHERE p.rank = 0 AND e.dur >= 0",
    ))  # fmt: skip
    wrong = []
    if not reported["whole"] or engine == 0:
        wrong.append(f"session {number}: {reported['whole']} whole requests, {engine} engine steps")
    if abs(engine - both) > 1:  # the session begins and ends in the middle of one
        wrong.append(f"session {number}: {engine} engine steps, {both} of them in the rank")
    issues = rows(sonde, span, "SELECT count(*) AS n FROM import_issue WHERE severity = 'error'")
    if issues[0]["n"]:
        wrong.append(f"session {number}: {issues[0]['n']} errors in the capture of the rank")
    whole = f"{reported['whole']:.0f} whole"
    print(f"session {number}: {reported['n']} requests, {whole}, {engine} steps", flush=True)
    shutil.rmtree(session)
    shutil.rmtree(span)
    return wrong


def stress(arguments, server, folder, bare):
    wrong, slowest, number, first = [], 0.0, 0, None
    end = time.monotonic() + arguments.seconds
    with ThreadPoolExecutor(1) as looking, Clients(server) as clients:
        looks = []
        while time.monotonic() < end:
            begin = time.monotonic()
            number += 1
            before = set(folder.glob("*_ascend_pt"))
            started = server.profile("start")
            time.sleep(RECORDED_S)
            stopped = server.profile("stop")
            if (started[0], stopped[0]) != (200, 200):
                wrong.append(f"session {number}: {started[:2]}, {stopped[:2]}")
                break
            slowest = max(slowest, started[2], stopped[2])
            (span,) = set(folder.glob("*_ascend_pt")) - before
            looks.append(looking.submit(look_at, arguments.sonde, span, server, number))
            if number == 2:
                first = memory_mb(server)
            time.sleep(max(0, begin + PERIOD_S - time.monotonic()))
        last = memory_mb(server)
        waiting = sum(not look.done() for look in looks)
    wrong += [line for look in looks for line in look.result()] + clients.problems
    for name, size in last.items():
        grown = size - (first or last)[name]
        print(f"{name}: {size:.0f} MB, {grown:+.0f} MB since the second session, "
              f"{bare[name]:+.0f} MB in that time without Sonde")  # fmt: skip
        if grown - bare[name] > GROWTH_MB:
            wrong.append(f"{name} grew by {grown:.0f} MB, without Sonde by {bare[name]:.0f} MB")
    print(f"{number} sessions, {clients.answers} answers, slowest start or stop {slowest:.3f} s; "
          f"{waiting} sessions were not parsed yet at the end")  # fmt: skip
    return wrong


def growth_without(arguments, model):
    """Megabytes by which each process grows between the moments at which `stress` looks."""
    server = Server(arguments.python, model, arguments.work / "log_without", [])
    with server, Clients(server) as clients:
        time.sleep(PERIOD_S + RECORDED_S)
        first = memory_mb(server)
        time.sleep(max(0, arguments.seconds - PERIOD_S - RECORDED_S))
        last = memory_mb(server)
    if clients.problems:
        raise SystemExit(f"the server without Sonde failed: {clients.problems[0]}")
    print(f"{clients.answers} answers without Sonde", flush=True)
    return {name: size - first[name] for name, size in last.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--python", required=True, help="an interpreter that has vLLM")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=300)
    arguments = parser.parse_args()
    model, folder = arguments.work / "model", arguments.work / "profile"
    subprocess.run([arguments.python, ROOT / "examples/vllm/make_model.py", model],
                   check=True, capture_output=True)  # fmt: skip
    bare = growth_without(arguments, model)
    launcher = [arguments.sonde, "run", "--profile-save-path", folder, "--"]
    with Server(arguments.python, model, arguments.work / "log", launcher) as server:
        server.ask("import ", 16)
        wrong = stress(arguments, server, folder, bare)
    for line in wrong:
        print(f"WRONG {line}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
