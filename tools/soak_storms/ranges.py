"""Ranges that are recorded by a program that is killed, analysed by commands that are killed, and
shown by a page that answers statements all the while."""

import shutil
import subprocess
import time
import urllib.request

from soak_storms.ground import HANG_S, SONDE, growth, process_size
from soak_storms.recording import ROWS, Program


def record_and_kill(ground, folder):
    program = Program(folder, folder.with_suffix(".progress"))
    time.sleep(ground.random.uniform(0.3, 2.5))
    program.kill(ground.report)
    return program


def check(ground, program):
    """The capture, None where the program was killed before it began."""
    made, _ = program.seen()
    span = program.span
    if not (span / "SONDE").exists():
        return None
    status = ground.analyse_with_kills(span)
    rows, dropped, *_ = ground.numbers(span, ROWS) or (0, 0)
    bad = status not in (0, None) and made > 0
    lost = max(0, made - rows - dropped)
    left = [path.name for path in span.rglob("*.partial")]
    ground.report.add(captures=1, ranges=rows, dropped=dropped, lost=lost)
    if bad or lost or left:
        ground.log("ranges", f"{span}: made {made}, rows {rows}, status {status}, left {left}")
    return span


class Page:
    def __init__(self, ground, span):
        self.ground = ground
        words = [str(word) for word in (SONDE, "view", span)]
        self.process = subprocess.Popen(
            words, env=ground.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.target = self.process.stdout.readline().strip().replace("/?", "/api/sql?")

    def is_alive(self):
        return self.process.poll() is None

    def ask(self):
        body = b"SELECT name, count(*), sum(dur) FROM slice GROUP BY name"
        try:
            with urllib.request.urlopen(self.target, data=body, timeout=HANG_S) as answer:
                answer.read()
        except TimeoutError:
            self.ground.report.add(hangs=1)
        except OSError:
            self.ground.report.add(crashes=not self.is_alive())

    def end(self):
        self.process.terminate()
        self.process.wait(HANG_S)
        self.ground.report.add(crashes=self.process.returncode != 0)


def rage(ground):
    number, sizes, page = 0, [], None
    while not ground.is_over():
        number += 1
        program = record_and_kill(ground, ground.folder / f"run{number}")
        span = check(ground, program)
        if page is None and span is not None:
            page = Page(ground, span)
            time.sleep(1)
        elif span is not None:
            shutil.rmtree(span.parent)
        for _ in range(20 if page else 0):
            page.ask()
        if page and page.is_alive():
            sizes.append(process_size(page.process.pid))
    if page:
        page.end()
        megabytes, files = growth(sizes)
        ground.report.show(growth_mb=megabytes, growth_fds=files)
