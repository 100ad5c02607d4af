"""Runs the whole test suite and adds it up; the last line is "N passed, N failed, N skipped".

Parts: the C++ tests of the dev preset, the Python tests below test/ (without test/compat, which
needs the peer tools), the page's tests, and the C++ tests of some folders under the address and
thread sanitizers. Each part consists of units, of which several run side by side; a unit that
passed before with the same inputs is not run again (unit_memory.py). Called by `make test`, which
has built the dev preset.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import source_tree
from unit_memory import UnitMemory, packages_of
from units import ROOT, Report, Unit, run_unit

PRESET = os.environ.get("PRESET", "dev")

SANITIZER_ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT / 'test' / 'tsan.supp'}"},
}

# Servers are waited for most of the time: their tests run beside all others, one file at a time.
SERVER_FOLDER = "test/vllm"
COMPAT_FOLDER = "test/compat"


@dataclass
class Total:
    """Of everything that was run or is known."""

    passed: int = 0
    failed: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    known_tests: int = 0
    known_units: int = 0

    def add(self, report, known):
        self.passed += report.passed
        self.failed += report.failed
        self.skipped += report.skipped
        self.known_tests += report.passed if known else 0
        self.known_units += known


def tell(unit, report, known):
    """A line for each unit; what it printed where something failed."""
    if report.failed:
        print(report.output, flush=True)
    counts = f"{report.passed} passed"
    counts += f", {len(report.failed)} failed" if report.failed else ""
    counts += f", {len(report.skipped)} skipped" if report.skipped else ""
    cost = "known" if known else f"{report.seconds:.1f} s"
    print(f"   {unit.title}: {counts}, {cost}", flush=True)


def run_or_recall(unit, memory, total):
    told = memory.recall(unit)
    if told is not None:
        report = Report(passed=told["passed"], skipped=told["skipped"])
    else:
        began, interval = time.time(), memory.begin()
        report = run_unit(unit)
        if report.failed:
            memory.drop(interval)
        else:
            memory.keep(unit, interval, began, report.seconds,
                        {"passed": report.passed, "skipped": report.skipped})  # fmt: skip
    tell(unit, report, told is not None)
    total.add(report, told is not None)


def run_units(units, memory, jobs, total):
    """The longest first, so that none is left over at the end; unknown ones before."""
    known = {unit.title: memory.seconds(unit) for unit in units}
    order = sorted(units, key=lambda u: -(1e9 if known[u.title] is None else known[u.title]))
    servers = [unit for unit in order if unit.source.startswith(SERVER_FOLDER)]
    others = [unit for unit in order if unit not in servers]
    with ThreadPoolExecutor(1) as server_lane, ThreadPoolExecutor(jobs) as lanes:
        futures = [server_lane.submit(run_or_recall, u, memory, total) for u in servers]
        futures += [lanes.submit(run_or_recall, u, memory, total) for u in others]
        for future in futures:
            future.result()


# -- what there is to run


def build(preset, targets, jobs, total):
    """Configures and builds test programs; what the compiler says goes to the terminal."""
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


def test_programs(preset, folders=()):
    """Names of the GoogleTest programs of these folders (all), of all that the preset knows."""
    command = ["cmake", "--build", str(ROOT / "build" / preset), "--target", "help"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    folder = rf"(?:{'|'.join(folders)})(?:_[a-z]+)?" if folders else r"\w+?"
    return sorted(set(re.findall(rf"^(sonde_{folder}_test):", known, re.MULTILINE)))


def program_units(preset, folders=()):
    environment = SANITIZER_ENVIRONMENT.get(preset, {})
    return [
        Unit(
            title=f"{preset}/{name}",
            command=[str(ROOT / "build" / preset / "bin" / name)],
            part="C++",
            report="gtest",
            key=tuple(sorted(environment)),
            environment=environment,
            folder=ROOT / "build" / preset,
        )
        for name in test_programs(preset, folders)
    ]


def other_ctest_units(preset):
    """Tests that CMakeLists.txt files add beside the GoogleTest programs."""
    command = ["ctest", "--test-dir", str(ROOT / "build" / preset), "--show-only=json-v1"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    programs = set(test_programs(preset))
    return [
        Unit(
            title=f"{preset}/{test['name']}",
            command=test["command"],
            part="C++",
            report="status",
            # Such a test is given what was built by its path: the content counts.
            key=tuple(
                str(Path(word).read_bytes()) if word.endswith(".o") else Path(word).name
                for word in test["command"]
            ),
        )
        for test in told["tests"]
        if test.get("command") and Path(test["command"][0]).name not in programs
    ]


def python_units(folders, key_of_folder, pytest_arguments=()):
    files = [
        path
        for path in source_tree.tracked_files(".py")
        if path.name.startswith("test_") and str(path).startswith(tuple(folders))
    ]
    return [
        Unit(
            title=str(path),
            command=[sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                     "-o", "addopts=-ra", str(path), "--junitxml=REPORT", *pytest_arguments],
            part="Python",
            source=str(path),
            key=(*key_of_folder(str(path)), *pytest_arguments),
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
        )
        for path in files
    ]  # fmt: skip


def vllm_packages():
    command = [str(ROOT / "setup" / "python.sh"), "vllm", "--if-there"]
    python = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return packages_of(python) if python else "none"


def all_python_units(pytest_arguments):
    vllm = vllm_packages()
    return [
        unit
        for unit in python_units(
            ["test/"], lambda name: (vllm,) if name.startswith("test/vllm/") else (),
            pytest_arguments,
        )
        if not unit.source.startswith(COMPAT_FOLDER)
    ]  # fmt: skip


def page_units():
    """The page's logic in one unit; a unit for each file of tests in the browser."""
    modules = (ROOT / "web" / "node_modules").resolve()

    def unit(title, config, source, *files):
        return Unit(
            title=title,
            command=[str(modules.parent / "node"), "node_modules/vitest/vitest.mjs", "run",
                     f"--config={config}", "--reporter=default", "--reporter=junit",
                     "--outputFile.junit=REPORT", *files],
            part="Page",
            source=source,
            key=(modules.parent.name,),
            page=True,
            folder=ROOT / "web",
        )  # fmt: skip

    units = [unit("web/src (logic)", "vite.config.ts", "web/package.json")]
    for path in source_tree.tracked_files(".test.ts"):
        if path.parts[:2] == ("web", "e2e"):
            units.append(
                unit(str(path), "vitest.browser.config.ts", str(path), str(Path(*path.parts[1:])))
            )
    return units


def run_sanitizer(preset, folders, memory_of, jobs, total):
    if not build(preset, [], jobs, total):
        return
    if build(preset, test_programs(preset, folders), jobs, total):
        run_units(program_units(preset, folders), memory_of(preset), jobs, total)


def part(title, function):
    print(f"== {title}", flush=True)
    started = time.monotonic()
    spent = sum(os.times()[:4])
    function()
    print(f"== {title}: {time.monotonic() - started:.0f} s, {sum(os.times()[:4]) - spent:.0f} s of "
          "processor time\n", flush=True)  # fmt: skip


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--asan", default="", help="folders of src/ for the address sanitizer")
    parser.add_argument("--tsan", default="", help="folders of src/ for the thread sanitizer")
    parser.add_argument("pytest_arguments", nargs="*", help="passed to pytest")
    return parser.parse_args()


def close(total, folder):
    for name in total.failed:
        print(f"FAILED {name}")
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
    fresh = os.environ.get("FRESH", "0") not in ("", "0")
    memory = UnitMemory([PRESET], fresh=fresh)

    def memory_of(preset):
        return UnitMemory([preset], fresh=fresh)

    def sanitizer(preset, folders):
        return lambda: run_sanitizer(preset, folders, memory_of, jobs, total)

    def beside_each_other():
        units = program_units(PRESET) + other_ctest_units(PRESET)
        units += all_python_units(arguments.pytest_arguments) + page_units()
        run_units(units, memory, jobs, total)

    part("C++, Python, page", beside_each_other)
    for preset, folders in (("asan", arguments.asan), ("tsan", arguments.tsan)):
        if folders.split():
            part(f"C++, {preset}", sanitizer(preset, folders.split()))
    return close(total, memory.folder)


if __name__ == "__main__":
    sys.exit(main())
