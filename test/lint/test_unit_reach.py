"""What a unit of the suite is taken to depend on, of all that was opened while it ran."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import suite  # noqa: E402
import unit_memory  # noqa: E402
import unit_reach  # noqa: E402
from opened_files import OpenedFiles  # noqa: E402
from units import Unit  # noqa: E402


def unit_of(source):
    return Unit(title=source, command=[], part="Python", source=source)


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    (
        ("test/vllm/test_ways.py", "build/dev/bin/sonde_importers_test", False),
        ("test/vllm/test_ways.py", "build/dev/bin/sonde", True),
        ("test/vllm/test_ways.py", "build/dev/lib/libsonde_torch.so", True),
        ("test/vllm/test_ways.py", "tools/vllm_server.py", True),
        ("test/vllm/test_ways.py", "examples/vllm/make_model.py", True),  # by its conftest
        ("test/vllm/test_ways.py", "setup/requirements-vllm.txt", True),
        ("test/vllm/test_ways.py", "python/sonde/vllm/_seams.py", True),
        ("test/vllm/test_ways.py", "test/vllm/shaped.py", True),
        ("test/vllm/test_ways.py", "test/vllm/test_plug_in.py", False),
        ("test/vllm/test_ways.py", "test/e2e/conftest.py", False),
        ("test/vllm/test_ways.py", "src/importers/kineto/testdata/a.json", False),
        ("test/vllm/test_ways.py", "web/src/main.ts", False),
        ("test/vllm/test_one_rank.py", "test/one_rank/fates.py", True),
        ("test/vllm/test_one_rank.py", "web/src/main.ts", True),  # it runs the page's test
        ("test/python/test_daemon.py", "test/python/test_recorded_programs.py", True),  # imported
        ("test/python/test_daemon.py", "test/torch/harness.py", True),
        ("test/python/test_daemon.py", "test/e2e/conftest.py", False),
        ("test/e2e/test_own_time.py", "test/python/programs/operator_database.py", True),
        ("test/e2e/test_analyse.py", "test/python/programs/train.py", True),  # parents[1]
        ("test/e2e/test_view_limits.py", "test/e2e/test_view.py", True),  # imported by an import
        ("test/lint/test_lint_scripts.py", "src/base/clock.cc", True),
    ),
)
def test_what_a_unit_can_open(source, name, expected):
    assert unit_reach.can_open(unit_of(source), name) is expected


@pytest.mark.parametrize(
    ("program", "name", "expected"),
    (
        ("sonde_base_test", "build/dev/bin/sonde_base_test", True),
        ("sonde_base_test", "build/dev/bin/sonde_store_test", False),
        ("sonde_base_test", "build/dev/bin/sonde", False),
        ("sonde_base_test", "src/base/testdata/a", True),
        ("sonde_base_test", "test/e2e/conftest.py", False),
        ("sonde_base_test", "python/sonde/_native.py", False),
        ("sonde_store_test", "docs/reference/kinds.md", True),
        ("sonde_advisor_test", "test/e2e/test_advisor_rules.py", True),  # it counts cases there
        ("sonde_advisor_test", "test/e2e/conftest.py", False),
        ("sonde_cli_fuzz_test", "test/fuzz/cli_store/a", True),
        ("sonde_store_test", "test/fuzz/cli_store/a", False),
    ),
)
def test_what_a_program_can_open(program, name, expected):
    command = [f"build/dev/bin/{program}"]
    unit = Unit(title=program, command=command, part="C++", report="gtest")
    assert unit_reach.can_open(unit, name) is expected


def test_what_a_sanitizer_suppresses_is_opened():
    (unit,) = suite.units_of_program("tsan", "sonde_base_test", 1)
    assert unit_reach.can_open(unit, "test/tsan.supp")


def test_what_ran_beside_is_known(tmp_path):
    watched = OpenedFiles([tmp_path])
    first = watched.begin()
    assert watched.end(first).alone
    first, second = watched.begin(), watched.begin()
    third = watched.end(second) and watched.begin()
    assert not any(watched.end(one).alone for one in (first, third)) and not second.alone


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
    units = list(suite.units_of_program("asan", "sonde_importers_test", 3))
    assert len({unit.title for unit in units}) == 3
    places = [unit.environment["GTEST_SHARD_INDEX"] for unit in units]
    assert places == ["0", "1", "2"] and units[0].environment["GTEST_TOTAL_SHARDS"] == "3"
    assert "GTEST_TOTAL_SHARDS" not in next(suite.units_of_program("dev", "x", 1)).environment


def test_cases_are_sources_of_the_unit_that_runs_them():
    """A unit has one file of them; their words show what of the command it reaches."""
    cases = [unit for unit in suite.all_python_units([]) if unit.source == suite.CASES]
    names = {unit.environment["SONDE_CASES"] for unit in cases}
    assert len(names) == len(cases) > 4
    (unit,) = [unit for unit in cases if unit.environment["SONDE_CASES"] == "field2"]
    assert unit_reach.can_open(unit, "test/e2e/cases/field2.txt")
    assert not unit_reach.can_open(unit, "test/e2e/cases/field.txt")
    assert not unit_reach.can_open(unit_of("test/e2e/test_view.py"), "test/e2e/cases/field.txt")
    opened = ["test/e2e/cases/field2.txt", "data/field2/README.md", "docs/cli.md"]
    assert unit_memory.texts_of_tests(opened) == opened[:1]
    text = (ROOT / opened[0]).read_text(encoding="utf-8")
    assert "advisor" in unit_memory.parts_named([text])
