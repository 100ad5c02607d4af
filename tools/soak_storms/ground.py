"""What the storms of a soak share: their folder, the command, the clock and the report.

Threads: each storm has its own; the report may be written by all. A figure of the report is a
count of all storms together, but for those under the name of a storm.
"""

import os
import random
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
SONDE = BUILD / "bin" / "sonde"
HANG_S = 60
COUNTED = ("captures", "ranges", "lost", "dropped", "kills", "crashes", "hangs")


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.figures = dict.fromkeys(COUNTED, 0)

    def add(self, **figures):
        with self.lock:
            for name, value in figures.items():
                self.figures[name] = self.figures.get(name, 0) + value

    def show(self, **figures):
        with self.lock:
            self.figures.update(figures)


class Ground:
    """``folder`` is the storm's own."""

    def __init__(self, folder, report, end, seed):
        self.folder, self.report, self.end = folder, report, end
        self.random = random.Random(seed)
        folder.mkdir(parents=True)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder)}

    def is_over(self):
        return time.monotonic() >= self.end

    def command(self, *words, kill_after=None):
        """Exit status and output of `sonde words`; None where it was killed after that many
        seconds, or hung."""
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
            self.report.add(**{"kills" if kill_after else "hangs": 1})
            process.kill()
            process.communicate()
            return None, ""
        self.report.add(crashes=process.returncode < 0)
        return process.returncode, text

    def analyse_with_kills(self, span):
        """Exit status of the analysis that was left alone, after some that were not."""
        for _ in range(2):
            self.command("analyse", span, kill_after=self.random.uniform(0.02, 0.6))
        simplify = self.random.choice(("--data-simplification", "--no-data-simplification"))
        self.command("analyse", span, simplify, kill_after=self.random.uniform(0.02, 0.8))
        return self.command("analyse", span)[0]

    def numbers(self, span, sql):
        """The cells of the statement's only row; None where it cannot be asked."""
        status, text = self.command("query", span, sql, "--format", "csv")
        if status != 0:
            return None
        return [int(cell) for cell in text.split()[-1].split(",")]

    def log(self, storm, text):
        print(f"soak: {storm}: {text}", flush=True)


def growth(sizes):
    """How much larger the last one is than one after a fifth of the time; of each column."""
    early, late = sizes[len(sizes) // 5], sizes[-1]
    return [b - a for a, b in zip(early, late, strict=True)]


def process_size(pid):
    """MB in memory and open files of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024, len(os.listdir(f"/proc/{pid}/fd"))
