"""A vLLM server under `sonde run` with four streams of requests and session after session of
profiling by HTTP; it is killed now and then. Each request that began and ended inside of a session
is whole in that session's record."""

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from vllm_server import Server, ServerError

from soak_storms.ground import HANG_S, ROOT, SONDE, growth

STREAMS = 4
ROWS = "SELECT count(*) FROM request WHERE is_whole = 1"


class Stream(threading.Thread):
    """Asks one request after the other; (begin, end) of each that was answered."""

    def __init__(self, server, seed_of):
        super().__init__(daemon=True)
        self.server, self.random = server, seed_of
        self.answered, self.is_over = [], False

    def run(self):
        while not self.is_over:
            begin = time.monotonic()
            tokens = self.random.choice((1, 4, 16, 48))
            with suppress(ServerError, OSError):
                if self.random.random() < 0.1:
                    body = {"model": "tiny", "prompt": "import os", "max_tokens": 64,
                            "stream": True}  # fmt: skip
                    self.server.abandon("/v1/completions", body, 2)
                    continue
                self.server.ask("def main():" * self.random.randint(1, 8), tokens)
                self.answered.append((begin, time.monotonic()))
            if self.server.process.poll() is not None:
                return


def size_of(server):
    """MB and open files of all its processes, which are of one session."""
    megabytes, files = 0, 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) != server.process.pid:  # the session
                continue
            megabytes += int(fields[21]) * os.sysconf("SC_PAGESIZE") >> 20
            files += len(os.listdir(stat.parent / "fd"))
    return megabytes, files


class Serving:
    """One life of the server."""

    def __init__(self, ground, server, profiles):
        self.ground, self.server, self.profiles = ground, server, profiles
        self.streams = [Stream(server, ground.random) for _ in range(STREAMS)]
        self.sizes = []
        for stream in self.streams:
            stream.start()

    def end(self):
        for stream in self.streams:
            stream.is_over = True
        for stream in self.streams:
            stream.join(HANG_S)

    def session(self, killed):
        """Records some seconds; `killed`: ends with the server instead of an order."""
        before = set(self.profiles.iterdir()) if self.profiles.exists() else set()
        if self.server.profile("start")[0] != 200:
            self.ground.report.add(crashes=1)
            self.ground.log("server", "a session was not started")
            return
        begin = time.monotonic()
        time.sleep(self.ground.random.uniform(2, 8))
        end = time.monotonic()
        if killed:
            os.killpg(self.server.process.pid, signal.SIGKILL)
            self.server.process.wait()
            self.ground.report.add(kills=1)
        elif self.server.profile("stop")[0] != 200:
            self.ground.report.add(crashes=1)
            self.ground.log("server", "a session was not stopped")
        inside = sum(b > begin and e < end for s in self.streams for b, e in s.answered)
        new = set(self.profiles.iterdir()) - before
        spans = [path for path in new if path.name.endswith("_ascend_pt")]
        sessions = [path for path in new if path.name.startswith("server_")]
        if len(sessions) != 1 or len(spans) != 1:
            self.ground.report.add(crashes=1)
            self.ground.log("server", f"a session left {sorted(path.name for path in new)}")
        for session in sessions:
            if not killed:
                self.wait_for_analysis(spans, session)
            self.check(session, inside, is_whole=not killed)
        for path in [*spans, *sessions]:  # after a kill somebody may still work on what was left
            shutil.rmtree(path, ignore_errors=killed)
        if not killed:
            self.sizes.append(size_of(self.server))

    def wait_for_analysis(self, spans, session):
        done = [span / "ASCEND_PROFILER_OUTPUT" / "analyse.done" for span in spans]
        log, end = self.server.log, time.monotonic() + HANG_S
        while time.monotonic() < end:
            is_served = f"served: {session}" in log.read_text(errors="replace")
            if is_served and all(path.exists() for path in done):
                return
            time.sleep(0.2)
        self.ground.report.add(hangs=1)
        self.ground.log("server", f"{session}: not analysed after {HANG_S} s")

    def check(self, session, inside, is_whole):
        (rows,) = self.ground.numbers(session, ROWS) or (0,)
        # What was on its way between the processes when all were killed at once is in neither.
        lost = max(0, inside - rows - (0 if is_whole else STREAMS))
        self.ground.report.add(captures=1, sessions=1, requests=rows, lost=lost)
        if lost:
            self.ground.log("server", f"{session}: {inside} requests answered, {rows} rows")


def serve(ground, python, model, number):
    folder = ground.folder / f"server{number}"
    folder.mkdir()
    launcher = [SONDE, "run", "--profile-save-path", folder / "profile", "--"]
    options = ("--max-num-seqs", "8")
    with Server(python, model, folder / "log", launcher, options=options,
                environment={"XDG_CACHE_HOME": str(folder / "cache")}) as server:  # fmt: skip
        server.ask("x", 2)
        serving = Serving(ground, server, folder / "profile")
        sessions = ground.random.randint(8, 40)
        while sessions and not ground.is_over():
            sessions -= 1
            serving.session(killed=False)
        if not ground.is_over():
            serving.session(killed=True)
        serving.end()
    return serving.sizes


def rage(ground):
    find = [ROOT / "setup" / "python.sh", "vllm", "--if-there"]
    python = subprocess.run(find, capture_output=True, text=True, check=False).stdout.strip()
    if not python:
        ground.report.show(server="left out: needs vllm, which make setup-vllm installs")
        return
    model, number, most = ground.folder / "model", 0, [0, 0]
    words = [python, ROOT / "examples" / "vllm" / "make_model.py", model]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not ground.is_over():
        number += 1
        try:
            sizes = serve(ground, python, model, number)
        except ServerError as problem:
            ground.report.add(crashes=1)
            ground.log("server", problem)
            continue
        if len(sizes) >= 5:
            most = [max(pair) for pair in zip(most, growth(sizes), strict=True)]
    ground.report.show(server_growth_mb=most[0], server_growth_fds=most[1])
