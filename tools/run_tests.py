"""Runs the whole test suite and adds it up; the last line is "N passed, N failed, N skipped".

Parts: the C++ tests of folders without a sanitizer (dev preset), the Python tests below test/
(without test/compat, which needs the peer tools), the page's tests, and the C++ tests of the other
folders under the address and thread sanitizers. Each part consists of units, of which several run
side by side; a unit that passed before with the same inputs is not run again (unit_memory.py).
Python and page tests that fail beside others are run once more alone: what passes then counts, and
is named as UNSTABLE. Builds what they need; `make test` has configured the dev preset.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import suite
from unit_memory import UnitMemory
from units import ROOT, Report, fail_what_is_required, run_unit

PRESET = os.environ.get("PRESET", "dev")

# Not C++: what a sanitizer sees once is there.
MAY_BE_TRIED_TWICE = ("Python", "Page")

# How many units are named by their cost, and from when on.
DEAREST = 15
LEAST_REPORTED_S = 60


@dataclass
class Total:
    """Of everything that was run or is known."""

    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    unstable: list = field(default_factory=list)
    known_tests: int = 0
    known_units: int = 0
    costs: list = field(default_factory=list)  # (processor seconds, title) of what was run
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, report, known):
        with self.lock:
            self._add(report, known)

    def spent(self, unit, report):
        with self.lock:
            self.costs.append((report.processor_seconds, unit.title))

    def _add(self, report, known):
        self.passed += report.passed
        self.failed += report.failed
        self.skipped += report.skipped
        self.known_tests += report.passed if known else 0
        self.known_units += known


def show(unit, report, known):
    """A line for each unit; what it printed where something failed."""
    if report.failed:
        print(report.output, flush=True)
    counts = f"{report.passed} passed"
    counts += f", {len(report.failed)} failed" if report.failed else ""
    counts += f", {len(report.skipped)} skipped" if report.skipped else ""
    spent = f"{report.seconds:.1f} s, {report.processor_seconds:.1f} s of processor time"
    cost = "known" if known else spent
    print(f"   {unit.title}: {counts}, {cost}", flush=True)


def run_or_recall(unit, memory, total):
    """Returns a unit that has failed and is to be tried once more; nothing of it counts yet."""
    reported = memory.recall(unit)
    if reported is not None:
        report = Report(passed=reported["passed"], skipped=reported["skipped"])
    else:
        began, interval = time.time(), memory.begin()
        report = run_unit(unit)
        total.spent(unit, report)
        fail_what_is_required(unit, report)
        if report.failed:
            memory.drop(interval)
        else:
            memory.keep(unit, interval, began, report.seconds,
                        {"passed": report.passed, "skipped": report.skipped})  # fmt: skip
    show(unit, report, reported is not None)
    if report.failed and unit.part in MAY_BE_TRIED_TWICE:
        return unit, report.failed
    total.add(report, reported is not None)
    return None


def run_alone(unit, failed, total):
    """A failure beside others that does not come again is reported, but does not count: programs
    that start servers and browsers depend on how fast a shared machine lets them run. It is a fault
    of the test all the same, and is not remembered as passed."""
    print(f"   {unit.title}: once more, alone", flush=True)
    report = run_unit(unit)
    total.spent(unit, report)
    fail_what_is_required(unit, report)
    show(unit, report, known=False)
    total.unstable += [name for name in failed if name not in report.failed]
    total.add(report, known=False)


def run_units(units, memory, jobs, total):
    """The longest first, so that none is left over at the end; unknown ones before.

    Servers are waited for most of the time: their tests run beside all others, two at a time where
    memory allows."""
    order = sorted(units, key=lambda unit: -suite.expected_seconds(unit, memory.seconds(unit)))
    servers = [unit for unit in order if unit.source.startswith(suite.SERVER_FOLDER)]
    others = [unit for unit in order if unit not in servers]
    with tempfile.TemporaryDirectory(prefix="sonde-shared-") as shared:
        for unit in order:  # for what is costly to make, and the same for several
            unit.environment = {**unit.environment, "UNITS_SHARED_FOLDER": shared}
        servers_at_once = ThreadPoolExecutor(suite.servers_at_once())
        with servers_at_once as server_lanes, ThreadPoolExecutor(jobs) as lanes:
            futures = [server_lanes.submit(run_or_recall, u, memory, total) for u in servers]
            futures += [lanes.submit(run_or_recall, u, memory, total) for u in others]
            again = [future.result() for future in futures]
        for unit, failed in filter(None, again):
            run_alone(unit, failed, total)


def build(preset, targets, jobs, total):
    """Configures and builds test programs; the compiler's messages go to the terminal."""
    commands = [["cmake", "--preset", preset]]
    if targets:
        commands.append(
            ["cmake", "--build", f"build/{preset}", "-j", str(jobs), "--target", *targets]
        )
    for command in commands:
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code != 0:
            total.failed.append(f"{' '.join(command[:3])} (exit status {code})")
            return False
    return True


def run_sanitizer(preset, folders, memory_of, jobs, total):
    if not build(preset, [], jobs, total):
        return
    programs = suite.test_programs(preset, folders)
    if build(preset, programs, jobs, total):
        run_units(suite.program_units(preset, programs), memory_of(preset), jobs, total)


def part(title, function):
    print(f"== {title}", flush=True)
    started = time.monotonic()
    spent = sum(os.times()[:4])
    function()
    print(f"== {title}: {time.monotonic() - started:.0f} s, {sum(os.times()[:4]) - spent:.0f} s of "
          "processor time\n", flush=True)  # fmt: skip


def is_fresh():
    return os.environ.get("FRESH", "0") not in ("", "0")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--asan", default="", help="folders of src/ for the address sanitizer")
    parser.add_argument("--tsan", default="", help="folders of src/ for the thread sanitizer")
    parser.add_argument("pytest_arguments", nargs="*", help="passed to pytest")
    return parser.parse_args()


def report_costs(total):
    """What to look at first where the whole takes too long."""
    seconds = sum(spent for spent, _ in total.costs)
    if seconds < LEAST_REPORTED_S:
        return
    dearest = sorted(total.costs, reverse=True)[:DEAREST]
    print(f"Tests took {seconds:.0f} s of processor time, most of it:")
    for spent, title in dearest:
        print(f"{spent:8.1f} s  {title}")


def close(total, folder):
    report_costs(total)
    for name in total.failed:
        print(f"FAILED {name}")
    for name in total.unstable:
        print(f"UNSTABLE {name}: failed beside others, passed alone")
    for reason in total.skipped:
        print(f"SKIPPED {reason}")
    if total.known_units:
        print(f"{total.known_tests} of the tests, in {total.known_units} units, were not run "
              f"again: they passed with the same inputs ({folder}; FRESH=1 runs them)")  # fmt: skip
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed else 0


def main():
    arguments = parse_arguments()
    jobs, total = arguments.jobs, Total()
    programs = suite.plain_programs(PRESET, {*arguments.asan.split(), *arguments.tsan.split()})
    targets = [*suite.TESTED_TARGETS, *programs]
    part("build", lambda: build(PRESET, targets, jobs, total))
    memory = UnitMemory([PRESET], fresh=is_fresh())

    def memory_of(preset):
        return UnitMemory([preset], fresh=is_fresh())

    def sanitizer(preset, folders):
        return lambda: run_sanitizer(preset, folders, memory_of, jobs, total)

    def in_parallel():
        units = suite.program_units(PRESET, programs) + suite.other_ctest_units(PRESET)
        units += suite.all_python_units(arguments.pytest_arguments) + suite.page_units()
        run_units(units, memory, jobs, total)

    if not total.failed:
        part("C++, Python, page", in_parallel)
    for preset, folders in (("asan", arguments.asan), ("tsan", arguments.tsan)):
        if folders.split():
            part(f"C++, {preset}", sanitizer(preset, folders.split()))
    return close(total, memory.folder)


if __name__ == "__main__":
    sys.exit(main())
