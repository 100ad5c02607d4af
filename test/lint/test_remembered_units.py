"""Units of the test suite are remembered by what they opened: tried on a small tree of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import suite  # noqa: E402
import unit_memory  # noqa: E402
import units  # noqa: E402
from opened_files import is_possible  # noqa: E402

READER = """
import pathlib, subprocess, sys
root = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(root / "python"))
def test_reads():
    import package.used
    assert subprocess.run(["cat", root / "docs" / "read.md"], capture_output=True).stdout
    list((root / "python" / "listed").iterdir())
    (root / "runs").open("a").write("x")
"""
TREE = {
    ".gitignore": "/build/\n/runs\n__pycache__/\n",
    "docs/read.md": "read",
    "docs/other.md": "not read",
    "python/package/__init__.py": "",
    "python/package/used.py": "value = 1\n",
    "python/package/unused.py": "",
    "python/listed/a": "",
    "test/some/test_reader.py": READER,
}
DRIVER = """
import json, sys
sys.path.insert(0, "tools")
import run_tests, suite
from unit_memory import UnitMemory
total = run_tests.Total()
memory = UnitMemory(["dev"], fresh=len(sys.argv) > 1)
run_tests.run_units(suite.python_units(["test/"], lambda name: ()), memory, 2, total)
print(json.dumps([total.passed, len(total.failed), len(total.skipped), total.known_tests]))
"""

pytestmark = pytest.mark.skipif(not is_possible(), reason="needs root: who opens files is asked")

# Without reference data: whose folders are looked through before the first unit.
ENVIRONMENT = {**os.environ, "SONDE_SHARED_DATA": os.devnull}


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    """A tree with one test file that reads, lists and imports; `runs` counts how often it ran."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in TREE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    subprocess.run(["git", "init", "-q", tree], check=True)
    return tree


def run(tree, *arguments, **variables):
    """(passed, failed, skipped, known) of a run of all units, and how often the test has run."""
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(tree / "build" / "cache"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        cwd=tree, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = (tree / "runs").read_text() if (tree / "runs").exists() else ""
    return (*json.loads(done.stdout.splitlines()[-1]), len(runs))


def test_a_pass_is_known_until_an_input_changes(tree):
    assert run(tree) == (1, 0, 0, 0, 1)
    assert run(tree) == (1, 0, 0, 1, 1)
    assert run(tree, "fresh") == (1, 0, 0, 0, 2)


READ = (
    "docs/read.md",  # by a program that the test started
    "python/package/used.py",
    "python/package/new.py",  # in a folder that was looked through
    "python/listed/b",
    "test/some/test_reader.py",
    "test/some/conftest.py",
    "test/conftest.py",
)


def test_what_was_read_counts(tree):
    assert run(tree) == (1, 0, 0, 0, 1)
    for runs, name in enumerate(READ, 2):
        with (tree / name).open("a") as file:
            file.write("\n")
        assert run(tree) == (1, 0, 0, 0, runs), name
    assert run(tree) == (1, 0, 0, 1, len(READ) + 1)


def test_what_was_not_read_does_not(tree):
    assert run(tree) == (1, 0, 0, 0, 1)
    for name in ("docs/other.md", "python/package/unused.py", "docs/new.md"):
        (tree / name).write_text("# changed\n")
        assert run(tree) == (1, 0, 0, 1, 1), name


def test_the_way_back_is_known_too(tree):
    run(tree)
    (tree / "docs" / "read.md").write_text("another")
    run(tree)
    (tree / "docs" / "read.md").write_text("read")
    assert run(tree) == (1, 0, 0, 1, 2)


def test_surroundings_count(tree):
    run(tree, SONDE_REQUIRE="")
    assert run(tree, SONDE_REQUIRE="data") == (1, 0, 0, 0, 2)


def test_failures_are_never_known(tree):
    (tree / "docs" / "read.md").write_text("")
    assert run(tree) == (0, 1, 0, 0, 0)
    assert run(tree) == (0, 1, 0, 0, 0)


def test_an_input_that_changes_meanwhile_is_not_remembered(tree):
    reader = tree / "test" / "some" / "test_reader.py"
    reader.write_text(
        READER + '    (root / "docs" / "read.md").write_text("changed by the test")\n'
    )
    assert run(tree) == (1, 0, 0, 0, 1)
    assert run(tree) == (1, 0, 0, 0, 2)


@pytest.mark.parametrize(
    "text, fault",
    [
        ("", "ran no test"),
        ("import sys\nsys.exit(3)\n", "error"),
        ("def test_it():\n    assert False\n", "test_it"),
        ("import os\ndef test_it():\n    os._exit(0)\n", "ran no test"),
    ],
)
def test_a_unit_without_a_passed_test_failed(tree, text, fault):
    (tree / "test" / "some" / "test_reader.py").write_text(text)
    assert run(tree)[:2] == (0, 1), fault


@pytest.mark.parametrize(
    "reason, required, failed",
    [
        ("needs data: no folder x", "", 0),
        ("needs data: no folder x", "vllm", 0),
        ("needs data: no folder x", "data", 1),
        ("needs vllm: make test-vllm installs one", "data,vllm", 1),
        ("needs root: a file system can be mounted by root only", "data,vllm", 0),
    ],
)
def test_what_is_required_is_not_skipped(tree, reason, required, failed):
    text = f"import pytest\ndef test_it():\n    pytest.skip({reason!r})\n"
    (tree / "test" / "some" / "test_reader.py").write_text(text)
    assert run(tree, SONDE_REQUIRE=required)[:3] == (0, failed, 1 - failed)


GOOD = """<testsuites><testsuite name="A"><testcase name="B" status="run" result="completed"/>
<testcase name="C" status="run"><skipped message="x.cc:7&#x0A;needs data"/></testcase>
<testcase name="D" status="notrun" result="suppressed"/></testsuite></testsuites>"""
PROGRAM = """#!/bin/sh
echo '[ RUN      ] A.B'
REPORT
exit STATUS
"""


@pytest.mark.parametrize(
    "report, status, expected",
    [
        (True, 0, (1, [], ["C: x.cc:7 needs data", "D: switched off"])),
        (True, 1, (1, ["program (exit status 1, in A.B)"], None)),
        (False, 139, (0, ["program (exit status 139, in A.B)"], [])),
        (False, 0, (0, ["program (it ran no test)"], [])),
    ],
    ids=["good", "no test is named", "crashed", "silent"],
)
def test_reports_of_a_test_program(tmp_path, report, status, expected):
    program = tmp_path / "program"
    writes = f"cat > ${{1#--gtest_output=xml:}} <<'END'\n{GOOD}\nEND" if report else ""
    program.write_text(PROGRAM.replace("REPORT", writes).replace("STATUS", str(status)))
    program.chmod(0o755)
    done = units.run_unit(units.Unit("program", [str(program)], "C++", report="gtest"))
    passed, failed, skipped = expected
    assert (done.passed, done.failed) == (passed, failed), done.output
    if skipped is not None:
        assert done.skipped == skipped


def test_a_unit_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(units, "LONGEST_UNIT_S", 1)
    command = ["sh", "-c", "echo '[ RUN      ] A.B'; sleep 1000 & wait"]
    done = units.run_unit(units.Unit("program", command, "C++", report="gtest"))
    assert done.failed[-1] == "program (ended after 1 s)"


FAILS_ONCE = """
import pathlib
root = pathlib.Path(__file__).parents[2]
def test_fails_once():
    seen = (root / "runs").exists()
    (root / "runs").open("a").write("x")
    assert seen
"""
FAILS_ALWAYS = "def test_fails(): assert False\n"
REPEATING_DRIVER = DRIVER.replace("print(", "print(total.unstable); print(total.failed); print(")


def test_what_fails_beside_others_is_tried_once_more_alone(tree):
    (tree / "test/some/test_once.py").write_text(FAILS_ONCE)
    (tree / "test/some/test_reader.py").write_text(FAILS_ALWAYS)
    subprocess.run(["git", "-C", tree, "add", "."], check=True)
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(tree / "build" / "cache")}
    done = subprocess.run([sys.executable, "-c", REPEATING_DRIVER], cwd=tree, env=environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    unstable, failed, counts = done.stdout.splitlines()[-3:]
    assert "test_fails_once" in unstable and "test_fails_once" not in failed
    assert "test_fails" in failed and "test_fails'" not in unstable
    assert json.loads(counts) == [1, 1, 0, 0]
    # It is not taken for known.
    assert (tree / "runs").read_text() == "xx"
    assert "known" not in subprocess.run(
        [sys.executable, "-c", REPEATING_DRIVER], cwd=tree, env=environment, capture_output=True,
        text=True, check=True,
    ).stdout  # fmt: skip


@pytest.mark.parametrize(
    ("source", "parts"),
    (
        ("run_sonde('analyse', folder)", ""),
        ("run_sonde('run', '--view', '--', program)", "advisor cluster compare page serve"),
        ("run_sonde(command, '--help')", "advisor cluster compare page serve"),
        ("run_sonde('cluster', '-d', folder)", "cluster"),
        ("run_sonde('query', new, '--baseline', old)", "cluster compare"),
        ("run_sonde('advisor', 'all')", "advisor cluster compare"),
    ),
)
def test_parts_of_the_command_that_a_test_reaches(source, parts):
    """The advisor compares and looks at ranks, the page does all of it; any command may read."""
    reading = {"recipes", "exporters", "dumps"}
    assert unit_memory.parts_named([source]) == frozenset(parts.split()) | reading


def test_older_passes_hold():
    assert unit_memory.parts_of({"page": True}) == unit_memory.ALL_PARTS
    assert unit_memory.parts_of({"page": False}) == unit_memory.ALL_PARTS - {"page"}


def test_who_includes_parts_that_tests_may_not_reach():
    """What another folder includes of them is reached by its tests, too: the words must name it."""
    allowed = {
        "advisor": {"advisor", "cli/cmd_advisor.cc", "serve"},
        "compare": {"compare", "advisor", "cli/cmd_compare.cc", "cli/compare_options.h",
                    "cli/cmd_query.cc", "serve"},
        "cluster": {"cluster", "compare", "advisor", "cli/cmd_cluster.cc",
                    "cli/cluster_options.cc", "cli/cluster_options.h", "cli/cluster_run.cc",
                    "cli/cluster_run.h", "cli/cluster_steps.cc", "cli/cmd_query.cc", "serve"},
        "serve": {"serve", "cli/cmd_view.cc"},
    }  # fmt: skip
    for part, places in allowed.items():
        for path in (ROOT / "src").rglob("*.[ch]*"):
            name = path.relative_to(ROOT / "src").as_posix()
            if f'#include "{part}/' in path.read_text(encoding="utf-8", errors="replace"):
                assert {name, name.partition("/")[0]} & places, f"{name} includes {part}/"


def test_recorders_leave_parts_to_others():
    """Every folder and file that the lists name is there; parts are those of the command."""
    for folder, parts in suite.ELSEWHERE.items():
        assert (ROOT / folder).is_dir() and parts <= unit_memory.ALL_PARTS
    for source in suite.LEAVE_NOTHING:
        assert (ROOT / source).is_file() and not suite.left_to_others(source)
    assert "recipes" in suite.left_to_others("test/vllm/test_ways.py")
    assert not suite.left_to_others("test/e2e/test_own_tables.py")


def test_every_part_of_the_command_has_objects():
    """Else a folder that moved would count for no test."""
    command = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
    linked = unit_memory.UnitMemory([os.environ.get("PRESET", "dev")])._linked_from.get(command)
    if not linked:
        pytest.skip("the command is older than its sources")
    for name, part in unit_memory.PARTS.items():
        # Without node there is no page in the command.
        assert name == "page" or any(map(part.objects.search, linked[1])), name


def test_what_a_unit_leaves_to_others_is_no_part_of_its_pass(tmp_path, monkeypatch):
    """A change of a recipe, a reader of dumps or an analysis of ranks: the command is the
    same to tests of recording, another to others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
    memory = unit_memory.UnitMemory([os.environ.get("PRESET", "dev")])
    if not memory._linked_from.get(command):
        pytest.skip("the command is older than its sources")
    link, objects = memory._linked_from[command]
    digests = []
    for text in (b"before", b"after"):
        places = ("src/recipes/", "src/precision/", "src/cluster/")
        changed = {n: text if n.startswith(places) else d for n, d in objects.items()}
        assert changed != objects
        memory._linked_from[command], memory._digests = (link, changed), {}
        digests.append([
            memory._command_digest(command, unit_memory.parts_named(["sonde run"]) - elsewhere)
            for elsewhere in (suite.left_to_others("test/vllm/test_ways.py"), frozenset())
        ])  # fmt: skip
    (ways, other), (ways_after, other_after) = digests
    assert ways == ways_after and other != other_after


def test_a_program_that_takes_long_is_several_units():
    shards = list(suite.units_of_program("asan", "sonde_importers_test", 3))
    assert len({unit.title for unit in shards}) == 3
    places = [unit.environment["GTEST_SHARD_INDEX"] for unit in shards]
    assert places == ["0", "1", "2"] and shards[0].environment["GTEST_TOTAL_SHARDS"] == "3"
    assert "GTEST_TOTAL_SHARDS" not in next(suite.units_of_program("dev", "x", 1)).environment


def test_cases_show_what_of_the_command_they_reach():
    cases = [unit for unit in suite.all_python_units([]) if unit.source == suite.CASES]
    names = {unit.environment["SONDE_CASES"] for unit in cases}
    assert len(names) == len(cases) > 4
    opened = ["test/e2e/cases/field2.txt", "data/field2/README.md", "docs/cli.md"]
    assert unit_memory.texts_of_tests(opened) == opened[:1]
    text = (ROOT / opened[0]).read_text(encoding="utf-8")
    assert "advisor" in unit_memory.parts_named([text])
