"""What the test suite consists of: the units of each part, and how each is run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import source_tree
from unit_memory import packages_of
from units import ROOT, Unit

SANITIZER_ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT / 'test' / 'tsan.supp'}"},
}

# Programs that would be left over at the end, and into how many units each is cut.
SHARDS = {"asan/sonde_importers_test": 3}

# Folders under a sanitizer whose tests of forks beside threads skip there.
ALSO_PLAIN = ("record",)

# Of the build: the command and its libraries, and what tests start besides.
TESTED_TARGETS = ("product", "test_helpers")

SERVER_FOLDER = "test/vllm"

# What two servers of two ranks each, their clients and two other tests take at most.
MEMORY_FOR_TWO_SERVERS = 16 << 30

# What of the command (unit_memory.PARTS) the tests of recording leave to others. They look at what
# adapters, seams, recorder and package make of a program, through `sonde run`, and read it by
# `sonde query` of tables that importers/capture fills: base, store, job, cli, importers/capture
# and common, and all libraries count. What `sonde run` and `sonde analyse` make of a recording at
# its end (recipes, exporters) is looked at, on programs recorded by the same command, in test/e2e
# (test_own_tables, test_recorder, test_run_processes, test_own_profiler, test_own_time),
# test/store and the C++ tests; readers of others' formats, dumps and the comparison of dumps in
# test/e2e, test/store, test/precision and the C++ tests.
READERS_OF_OTHERS = {"dumps"}
AFTER_RECORDING = READERS_OF_OTHERS | {"recipes", "exporters"}
ELSEWHERE = {
    "test/vllm/": AFTER_RECORDING,
    "test/probe/": AFTER_RECORDING,
    "test/torch/": AFTER_RECORDING,
    "test/python/": AFTER_RECORDING,
}
# Of these folders, those that look at deliverables, or at records of a device, themselves.
LEAVE_NOTHING = (
    "test/vllm/test_one_rank.py",  # summary, comparison and page of a session, tables of a rank
    "test/python/test_device_tasks.py",
    "test/python/test_provide_npu.py",
    "test/python/test_tables.py",
)

# Where nothing is remembered of them yet: what takes minutes begins first.
LONGEST = (
    "test/vllm/test_one_rank.py",
    "test/vllm/test_two_ranks.py",
    "test/vllm/test_server_dump.py",
    "test/vllm/test_plug_in.py",
    "test/e2e/test_run_processes.py",
    "test/python/test_recorded_programs.py",
)
COMPAT_FOLDER = "test/compat"

# Tests as text (test/e2e/transcript.py): a unit for each file of them.
CASES = "test/e2e/test_cases.py"

# Run by a test of servers, on what that has recorded.
STARTED_BY_OTHERS = ("web/e2e/served.test.ts",)


def servers_at_once():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2 if memory >= MEMORY_FOR_TWO_SERVERS else 1


def expected_seconds(unit, remembered):
    """How long a unit takes, by what is remembered (None: nothing); unknown ones as the longest."""
    if remembered is not None:
        return remembered
    return 2e9 - LONGEST.index(unit.source) if unit.source in LONGEST else 1e9


def test_programs(preset, folders=()):
    """Names of the GoogleTest programs of these folders (all), of all that the preset knows."""
    command = ["cmake", "--build", str(ROOT / "build" / preset), "--target", "help"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    folder = rf"(?:{'|'.join(folders)})(?:_[a-z]+)?" if folders else r"\w+?"
    return sorted(set(re.findall(rf"^(sonde_{folder}_test):", known, re.MULTILINE)))


def plain_programs(preset, sanitized):
    """Those that no sanitizer runs, and those with tests that sanitizers cannot run."""
    folders = [folder for folder in sanitized if folder not in ALSO_PLAIN]
    elsewhere = test_programs(preset, folders) if folders else []
    return [name for name in test_programs(preset) if name not in elsewhere]


def program_units(preset, programs):
    return [
        unit
        for name in programs
        for unit in units_of_program(preset, name, SHARDS.get(f"{preset}/{name}", 1))
    ]


def units_of_program(preset, name, shards):
    """Of several, each has every so many-th test: GoogleTest reads that from the environment."""
    for shard in range(shards):
        environment = dict(SANITIZER_ENVIRONMENT.get(preset, {}))
        if shards > 1:
            environment |= {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
        yield Unit(
            title=f"{preset}/{name}" + (f" ({shard + 1} of {shards})" if shards > 1 else ""),
            command=[str(ROOT / "build" / preset / "bin" / name)],
            part="C++",
            report="gtest",
            key=tuple(sorted(environment)),
            environment=environment,
            folder=ROOT / "build" / preset,
        )


def other_ctest_units(preset):
    """Tests that CMakeLists.txt files add beside the GoogleTest programs."""
    command = ["ctest", "--test-dir", str(ROOT / "build" / preset), "--show-only=json-v1"]
    reported = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
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
        for test in reported["tests"]
        if test.get("command") and Path(test["command"][0]).name not in programs
    ]


def left_to_others(source):
    """The parts of the command that a file of tests need not be run again for."""
    folder = next((folder for folder in ELSEWHERE if source.startswith(folder)), None)
    return frozenset(ELSEWHERE[folder]) if folder and source not in LEAVE_NOTHING else frozenset()


def python_units(folders, key_of_folder, pytest_arguments=()):
    files = [
        path
        for path in source_tree.tracked_files(".py")
        if path.name.startswith("test_") and str(path).startswith(tuple(folders))
    ]
    return [
        Unit(
            title=f"{path} ({cases})" if cases else str(path),
            command=[sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                     "-o", "addopts=-ra", str(path), "--junitxml=REPORT", *pytest_arguments],
            part="Python",
            source=str(path),
            key=(*key_of_folder(str(path)), *cases.split(), *pytest_arguments),
            elsewhere=left_to_others(str(path)),
            environment={"PYTHONDONTWRITEBYTECODE": "1",
                         **({"SONDE_CASES": cases} if cases else {})},
        )
        for path in files
        for cases in files_of_cases(path)
    ]  # fmt: skip


def files_of_cases(path):
    """Names of the files of cases that a file of tests runs; an empty one where it has none."""
    if str(path) != CASES:
        return [""]
    return sorted(text.stem for text in (ROOT / path).with_name("cases").glob("*.txt"))


def packages_in(environment):
    command = [str(ROOT / "setup" / "python.sh"), environment, "--if-there"]
    python = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return packages_of(python) if python else "none"


def all_python_units(pytest_arguments):
    packages = {f"test/{name}/": (packages_in(name),) for name in ("vllm", "mindspore", "engine")}

    def key(name):
        return next((packages[folder] for folder in packages if name.startswith(folder)), ())

    return [
        unit
        for unit in python_units(["test/"], key, pytest_arguments)
        if not unit.source.startswith(COMPAT_FOLDER)
    ]


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
        if path.parts[:2] == ("web", "e2e") and str(path) not in STARTED_BY_OTHERS:
            units.append(
                unit(str(path), "vitest.browser.config.ts", str(path), str(Path(*path.parts[1:])))
            )
    return units
