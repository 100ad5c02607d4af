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
    ),
)
def test_other_names_lead_to_ours(words, ours):
    done = subprocess.run(
        [str(SONDE), *words, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert f"Usage: {ours} [OPTIONS]" in done.stdout


def test_an_unknown_one_is_told_of_the_nearest(probe):
    done = probe("graph_visualise", good=False)
    assert done.returncode == 2
    assert "unknown command 'graph_visualise'; did you mean 'graph_visualize'?" in done.stderr
    assert "unknown command 'frob' (see" in probe("frob", good=False).stderr
