"""Commands by msProbe's names, and a word for those that are none."""

import subprocess

import pytest
from conftest import SONDE


@pytest.mark.parametrize(
    ("words", "ours"),
    (
        (("probe", "graph_visualize"), "sonde probe graph"),
        (("probe", "merge_result"), "sonde probe merge"),
        (("probe", "nan_analyze"), "sonde probe overflow_check"),
        (("msprobe", "compare"), "sonde probe compare"),
        (("msprobe", "-f", "pytorch", "run_ut"), "sonde probe acc_check"),
    ),
)
def test_other_names_lead_to_ours(words, ours):
    done = subprocess.run(
        [str(SONDE), *words, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert f"Usage: {ours} [OPTIONS]" in done.stdout


@pytest.mark.parametrize(
    ("word", "advice"),
    (
        ("multi_acc_check", "'sonde probe acc_check -d N' once for each device"),
        ("op_generate", "'sonde probe reproduce ENTRY'"),
        ("checkpoint", "'sonde probe compare' compares two checkpoints"),
        ("data2db", "'sonde probe compare --store'"),
        ("parse", "use msprobe on a machine with CANN"),
    ),
)
def test_what_has_no_counterpart_says_what_to_do(probe, word, advice):
    done = probe(word, good=False)
    assert done.returncode == 2
    assert f"there is no '{word}' here: " in done.stderr and advice in done.stderr


def test_the_help_that_is_named_has_the_options(probe):
    assert "(see 'sonde probe compare --help')" in probe("compare", "-x", good=False).stderr
    assert "(see 'sonde probe graph --help')" in probe("graph_visualize", good=False).stderr


def test_a_command_is_needed(probe):
    done = probe(good=False)
    assert done.returncode == 2
    assert "one of its commands is missing: compare, config_check, graph," in done.stderr
    shown = subprocess.run(
        [str(SONDE), "msprobe", "-V"], capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout.startswith("sonde ")


def test_the_nearest_command_is_suggested(probe):
    done = probe("graph_visualise", good=False)
    assert done.returncode == 2
    assert "unknown command 'graph_visualise'; did you mean 'graph_visualize'?" in done.stderr
    assert "unknown command 'frob' (see" in probe("frob", good=False).stderr
