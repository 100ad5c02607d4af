"""A unit of the test suite: tests that one process runs, counted and remembered together.

It is a C++ test program, a file of Python tests, a file of the page's tests in the browser.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A unit that hangs is ended and counts as failed.
LONGEST_UNIT_S = 1800

# The reasons for which a test is skipped; SONDE_REQUIRE names what must not be lacking.
NEEDS = {
    "data": r"needs data",
    "vllm": r"needs vllm",
    "mindspore": r"needs mindspore",
    "torch": r"needs torch|could not import 'torch",
    "root": r"needs root",
    "compiler": r"needs a compiler",
}

# Of pytest, also where a whole file is skipped.
NO_TEST_RAN = 5


@dataclass
class Unit:
    """`source` is the file that it comes from, from the root, or ""; `key` is what its outcome
    depends on beside what it opens; `page`: whether it looks at the page in the command;
    `elsewhere` are the parts of the command (unit_memory.PARTS) that it leaves to other tests."""

    title: str
    command: list
    part: str
    report: str = "junit"  # or "gtest", or "status": passed when the exit status is 0
    source: str = ""
    key: tuple = ()
    page: bool = False
    elsewhere: frozenset = frozenset()
    environment: dict = field(default_factory=dict)
    folder: Path = ROOT


@dataclass
class Report:
    """What a unit reported: counts, names of what failed, a reason for each that was skipped."""

    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    output: str = ""
    seconds: float = 0
    processor_seconds: float = 0


def read_junit(path):
    """Counts the test cases of a JUnit file as pytest, vitest and GoogleTest write it."""
    report = Report()
    for case in ElementTree.parse(path).iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            report.failed.append(name)
        elif skipped is not None:
            report.skipped.append(f"{name}: {' '.join((skipped.get('message') or '').split())}")
        elif case.get("status") == "notrun":
            report.skipped.append(f"{name}: switched off")
        else:
            report.passed += 1
    return report


def running_at_the_end(output):
    """The test during which a GoogleTest program ended."""
    begun = re.findall(r"(?m)^\[ RUN      \] (\S+)", output)
    return begun[-1] if begun else "before its first test"


def command_of(unit, report_file):
    if unit.report == "gtest":
        return [*unit.command, f"--gtest_output=xml:{report_file}", "--gtest_color=no"]
    return [word.replace("REPORT", str(report_file)) for word in unit.command]


def wait_for(process, seconds):
    """Exit status and processor time of the process and its children; ends it when it hangs."""
    deadline = time.monotonic() + seconds
    hung = False
    pause = 0.002
    while True:
        number, status, usage = os.wait4(process.pid, os.WNOHANG)
        if number:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime, hung
        if time.monotonic() > deadline and not hung:
            hung = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def run_unit(unit):
    """Runs a unit to its end. What it prints is kept, for the case that something fails."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sonde-unit-") as name:
        report_file, output_file = Path(name, "report.xml"), Path(name, "output")
        with output_file.open("wb") as output:
            process = subprocess.Popen(
                command_of(unit, report_file),
                cwd=unit.folder,
                env={**os.environ, **unit.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            code, processor_seconds, hung = wait_for(process, LONGEST_UNIT_S)
        text = output_file.read_text(errors="replace")
        report = read_report(unit, report_file, text, code)
    if hung:
        report.failed.append(f"{unit.title} (ended after {LONGEST_UNIT_S} s)")
    report.output = text
    report.seconds = time.monotonic() - started
    report.processor_seconds = processor_seconds
    return report


def fail_what_is_required(unit, report, required=None):
    """Turns what was skipped for want of something that SONDE_REQUIRE names into failures.

    The page's tests give no reason: what they skip is for want of data."""
    names = (os.environ.get("SONDE_REQUIRE", "") if required is None else required).split(",")
    for name in filter(None, names):
        if name not in NEEDS:
            raise SystemExit(f"SONDE_REQUIRE knows no '{name}': {', '.join(NEEDS)}")
        for entry in list(report.skipped):
            reason = entry.partition(": ")[2]
            if re.search(NEEDS[name], reason) or (unit.page and name == "data" and not reason):
                report.skipped.remove(entry)
                report.failed.append(f"{entry} (SONDE_REQUIRE has {name})")


def read_report(unit, report_file, text, code):
    """One that ends badly without naming a failed test, or reports no test, counts as failed."""
    try:
        report = read_junit(report_file)
    except (OSError, ElementTree.ParseError):
        report = Report(passed=int(unit.report == "status" and code == 0))
    all_skipped = code == NO_TEST_RAN and report.skipped
    if code != 0 and not report.failed and not all_skipped:
        where = f", in {running_at_the_end(text)}" if unit.report == "gtest" else ""
        report.failed.append(f"{unit.title} (exit status {code}{where})")
    if not (report.passed or report.failed or report.skipped):
        report.failed.append(f"{unit.title} (it ran no test)")
    return report
