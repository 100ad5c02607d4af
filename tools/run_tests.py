"""Runs the whole test suite and adds up its parts; the last line is "N passed, N failed".

Parts: the C++ tests of the dev preset, the Python tests below test/ (without test/compat, which
needs the peer tools), and the C++ tests of some folders under the address and thread sanitizers.
Called by `make test`, which has built the dev preset.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A test or part that hangs is ended and counts as failed, in seconds.
LONGEST_TEST_S = 300
LONGEST_PART_S = 3600

SANITIZER_ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT / 'test' / 'tsan.supp'}"},
}


@dataclass
class Tally:
    """What one part of the suite reported."""

    passed: int = 0
    skipped: int = 0
    failed: list = field(default_factory=list)


def read_junit(path):
    """Counts the test cases of a JUnit file as ctest and pytest write it."""
    tally = Tally()
    for case in ElementTree.parse(path).iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
            tally.skipped += 1
        else:
            tally.passed += 1
    return tally


def run_part(title, command, junit, environment=None, folder=ROOT, output=None):
    """Runs one part; one that ends badly without naming a failed test counts as one failed.

    `output` is a file for what the part prints, where that must not be mixed with another's."""
    print(f"== {title}", flush=True)
    started = time.monotonic()
    try:
        code = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            timeout=LONGEST_PART_S,
            check=False,
            stdout=output,
            stderr=output,
        ).returncode
        end = f"exit status {code}"
    except subprocess.TimeoutExpired:
        code, end = 1, f"ended after {LONGEST_PART_S} s"
    tally = read_junit(junit) if junit.exists() else Tally()
    if code != 0 and not tally.failed:
        tally.failed.append(f"{title} ({end})")
    print(
        f"== {title}: {tally.passed} passed, {len(tally.failed)} failed, {tally.skipped} skipped, "
        f"{time.monotonic() - started:.0f} s\n",
        flush=True,
    )
    return tally


def run_ctest(title, build, junit, jobs, folders=(), environment=None):
    command = [
        "ctest",
        "--test-dir",
        str(build),
        "--output-on-failure",
        "--progress",
        "--timeout",
        str(LONGEST_TEST_S),
        "-j",
        str(jobs),
    ]
    command += ["--output-junit", str(junit), "--no-tests=error"]
    if folders:
        command += ["-R", f"^({'|'.join(folders)})(_[a-z]+)?/"]
    return run_part(title, command, junit, environment)


def test_targets(build, folders):
    """The test programs of these folders, of all that a configured build folder knows."""
    command = ["cmake", "--build", str(build), "--target", "help"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pattern = rf"^(sonde_(?:{'|'.join(folders)})(?:_[a-z]+)?_test):"
    return sorted(set(re.findall(pattern, known, re.MULTILINE)))


def run_sanitizer(preset, folders, work, jobs):
    """Builds and runs the tests of some folders under one sanitizer preset."""
    junit = work / f"{preset}.xml"
    build = ROOT / "build" / preset
    configured = run_part(f"configure {preset}", ["cmake", "--preset", preset], junit)
    if configured.failed:
        return configured
    targets = test_targets(build, folders)
    built = run_part(
        f"build {preset}",
        ["cmake", "--build", str(build), "-j", str(jobs), "--target", *targets],
        junit,
    )
    if built.failed:
        return built
    return run_ctest(
        f"C++ tests, {preset}", build, junit, jobs, folders, SANITIZER_ENVIRONMENT[preset]
    )


def run_page_tests(title, config, junit):
    """The page's tests (web/): its logic, or with the browser the page of the built command."""
    command = [
        str((ROOT / "web" / "node_modules").resolve().parent / "node"),
        "node_modules/vitest/vitest.mjs",
        "run",
        f"--config={config}",
        "--reporter=default",
        "--reporter=junit",
        f"--outputFile.junit={junit}",
    ]
    return run_part(title, command, junit, folder=ROOT / "web")


def run_python_tests(work, pytest_arguments):
    """Servers are waited for most of the time: their tests run beside all others."""

    def run(title, folders, output=None):
        junit = work / f"{title.replace(' ', '_')}.xml"
        command = [sys.executable, "-m", "pytest", "-q", *folders, f"--junitxml={junit}"]
        return run_part(title, command + pytest_arguments, junit, output=output)

    with open(work / "servers.txt", "w+b") as output, ThreadPoolExecutor(1) as pool:
        servers = pool.submit(run, "Python tests of servers", ["test/vllm"], output)
        others = run("Python tests", ["test", "--ignore=test/compat", "--ignore=test/vllm"])
        tallies = [others, servers.result()]
        output.seek(0)
        print(output.read().decode(errors="replace"), flush=True)
    return tallies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--asan", default="", help="folders of src/ to test under the address sanitizer"
    )
    parser.add_argument(
        "--tsan", default="", help="folders of src/ to test under the thread sanitizer"
    )
    parser.add_argument("pytest_arguments", nargs="*", help="passed to pytest")
    arguments = parser.parse_args()

    tallies = []
    with tempfile.TemporaryDirectory(prefix="sonde-tests-") as name:
        work = Path(name)
        tallies.append(
            run_ctest("C++ tests, dev", ROOT / "build" / "dev", work / "dev.xml", arguments.jobs)
        )
        tallies += run_python_tests(work, arguments.pytest_arguments)
        tallies.append(run_page_tests("Page, logic", "vite.config.ts", work / "page.xml"))
        tallies.append(
            run_page_tests("Page, in the browser", "vitest.browser.config.ts", work / "browser.xml")
        )
        for preset, folders in (("asan", arguments.asan), ("tsan", arguments.tsan)):
            if folders.split():
                tallies.append(run_sanitizer(preset, folders.split(), work, arguments.jobs))

    failed = [name for tally in tallies for name in tally.failed]
    for name in failed:
        print(f"FAILED {name}")
    skipped = sum(tally.skipped for tally in tallies)
    if skipped:
        print(f"{skipped} skipped (the reasons stand above)")
    print(f"{sum(tally.passed for tally in tallies)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
