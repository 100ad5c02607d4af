"""`sonde probe ir` on what MindSpore wrote: counts are MindSpore's own, a cut file is reported."""

import pytest


@pytest.fixture(name="graph")
def find_graph(shared_data):
    """A graph of 86 nodes after its last pass."""
    return next((shared_data / "mindspore_cpu" / "ir" / "graph").rglob("21_validate_*.ir"))


def test_all_nodes_are_read(probe, graph):
    header, row = probe("ir", graph).stdout.splitlines()
    assert header.split()[-4:] == ["CNodes", "CNodes", "read", "Parameters"]
    assert row.split()[-3:] == ["86", "86", "10"]


@pytest.mark.parametrize("option", [(), ("--types",), ("--find", "Mul")])
def test_a_cut_file_is_shown_and_named(probe, graph, tmp_path, option):
    cut = tmp_path / "21_validate_0076.ir"
    text = graph.read_bytes()
    cut.write_bytes(text[: len(text) // 2])
    done = probe("ir", cut, *option, good=False)
    assert done.returncode == 1
    assert "21_validate_0076.ir" in done.stderr
    assert "of its 86 nodes could be read; the file is cut off or damaged" in done.stderr
    assert len(done.stdout.splitlines()) > 1


def test_the_other_side_that_is_cut_is_named(probe, graph, tmp_path):
    cut = tmp_path / "21_validate_0076.ir"
    text = graph.read_bytes()
    cut.write_bytes(text[: len(text) // 2])
    done = probe("ir", graph, "--against", cut, good=False)
    assert done.returncode == 1
    assert "could be read" in done.stderr
