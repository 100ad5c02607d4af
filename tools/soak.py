"""Records, kills, analyses and serves for some time, and counts what was lost.

A program records ranges and says how many it made; it is killed at random. Analyses of its capture
are killed at random, too. A page serves one of the captures all the while and answers statements.
Afterwards each capture must give every range that was made, or count it as dropped. Prints one
JSON object; exit status 1 where something was lost, crashed, hung over a minute or grew.

Called by `.ci/soak`; tools/soak.py --seconds 3600
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
SONDE = BUILD / "bin" / "sonde"
HANG_S = 60
BATCH = 50
ROWS = (
    "SELECT (SELECT count(*) FROM slice WHERE name = 'range'), "
    "(SELECT coalesce(sum(count), 0)::BIGINT FROM import_issue WHERE code = 'records_dropped')"
)
MOST_GROWTH_MB = 64
MOST_GROWTH_FDS = 16


def work(folder, progress_path):
    """The program: ranges without end; how many batches were made stands in the progress file."""
    sys.path.insert(0, str(ROOT / "python"))
    from sonde._native import _SessionConfig as Config

    recorder = ctypes.CDLL(str(BUILD / "lib" / "libsonde_record.so"))
    config = Config(struct_size=ctypes.sizeof(Config), features=0x7F)
    config.directory, config.folder = str(folder).encode(), b"soak_ascend_pt"
    if recorder.sonde_session_start(ctypes.byref(config)) != 0:
        sys.exit(9)
    name = recorder.sonde_intern(b"range", ctypes.c_size_t(5))
    with open(progress_path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 8)
        made = ctypes.c_uint64.from_buffer(page)
        while True:
            for _ in range(BATCH):
                recorder.sonde_range_push(name, 0)
                recorder.sonde_range_pop()
            made.value += BATCH
            time.sleep(0.0005)


class Soak:
    def __init__(self, folder, seconds, seed):
        self.folder, self.end = folder, time.monotonic() + seconds
        self.random = random.Random(seed)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder)}
        self.report = {
            name: 0
            for name in ("captures", "ranges", "lost", "dropped", "kills", "crashes", "hangs")
        }
        self.page = None

    def command(self, *words, kill_after=None):
        """Exit status and output; None where it was killed after that many seconds."""
        process = subprocess.Popen(
            [str(word) for word in (SONDE, *words)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            text, _ = process.communicate(timeout=kill_after or HANG_S)
        except subprocess.TimeoutExpired:
            self.report["kills" if kill_after else "hangs"] += 1
            process.kill()
            process.communicate()
            return None, ""
        self.report["crashes"] += process.returncode < 0
        return process.returncode, text

    def record_and_kill(self, folder):
        """How many ranges the program had made when it was killed."""
        folder.mkdir()
        progress = folder / "progress"
        progress.write_bytes(bytes(8))
        words = [sys.executable, __file__, "--work", folder, progress]
        program = subprocess.Popen([str(word) for word in words])
        time.sleep(self.random.uniform(0.3, 2.5))
        self.report["crashes"] += program.poll() is not None
        program.send_signal(signal.SIGKILL)
        program.wait()
        self.report["kills"] += 1
        return int.from_bytes(progress.read_bytes(), "little")

    def check(self, folder, made):
        span = folder / "soak_ascend_pt"
        if not (span / "SONDE").exists():  # killed before it began
            return None
        for _ in range(2):
            self.command("analyse", span, kill_after=self.random.uniform(0.02, 0.6))
        simplify = self.random.choice(("--data-simplification", "--no-data-simplification"))
        self.command("analyse", span, simplify, kill_after=self.random.uniform(0.02, 0.8))
        status, _ = self.command("analyse", span)
        asked, text = self.command("query", span, ROWS, "--format", "csv")
        rows, dropped = 0, 0
        if asked == 0:
            rows, dropped = (int(cell) for cell in text.split()[-1].split(","))
        bad = status not in (0, None) and made > 0
        lost = max(0, made - rows - dropped)
        left = [path.name for path in span.rglob("*.partial")]
        self.report["captures"] += 1
        self.report["ranges"] += rows
        self.report["dropped"] += dropped
        self.report["lost"] += lost
        if bad or lost or left:
            print(f"soak: {span}: made {made}, rows {rows}, status {status}, left {left}")
        return span

    def start_page(self, span):
        self.page = subprocess.Popen(
            [str(SONDE), "view", str(span)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        address = self.page.stdout.readline().strip()
        self.target = address.replace("/?", "/api/sql?")

    def ask_page(self):
        body = b"SELECT name, count(*), sum(dur) FROM slice GROUP BY name"
        try:
            with urllib.request.urlopen(self.target, data=body, timeout=HANG_S) as answer:
                answer.read()
        except TimeoutError:
            self.report["hangs"] += 1
        except OSError:
            self.report["crashes"] += self.page.poll() is not None

    def page_size(self):
        status = Path(f"/proc/{self.page.pid}/status").read_text(encoding="ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) // 1024, len(os.listdir(f"/proc/{self.page.pid}/fd"))

    def run(self):
        number, sizes = 0, []
        while time.monotonic() < self.end:
            number += 1
            folder = self.folder / f"run{number}"
            span = self.check(folder, self.record_and_kill(folder))
            if self.page is None and span is not None:
                self.start_page(span)
                time.sleep(1)
            elif span is not None:
                shutil.rmtree(folder)
            for _ in range(20 if self.page else 0):
                self.ask_page()
            if self.page and self.page.poll() is None:
                sizes.append(self.page_size())
        if self.page:
            self.page.terminate()
            self.page.wait(HANG_S)
            self.report["crashes"] += self.page.returncode != 0
        early, late = sizes[len(sizes) // 5] if sizes else (0, 0), sizes[-1] if sizes else (0, 0)
        self.report["growth_mb"], self.report["growth_fds"] = (b - a for a, b in zip(early, late))
        leftovers = [path.name for path in self.folder.glob(".sonde-*.partial")]
        self.report["temporary_folders_left"] = len(leftovers)
        return self.report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
    with tempfile.TemporaryDirectory(prefix="sonde_soak_") as folder:
        report = Soak(Path(folder), options.seconds, options.seed).run()
    print(json.dumps(report))
    is_good = not (report["lost"] or report["crashes"] or report["hangs"])
    grew = report["growth_mb"] > MOST_GROWTH_MB or report["growth_fds"] > MOST_GROWTH_FDS
    sys.exit(0 if is_good and not grew and report["captures"] else 1)


if __name__ == "__main__":
    main()
