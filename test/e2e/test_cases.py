"""Commands and what comes of them, as text: test/e2e/cases, in the form of transcript.py.

SONDE_CASES names one file of them (`cluster`); without it all are run.
"""

import os
from pathlib import Path

import pytest
import transcript
from case_place import Place

FILES = sorted(Path(__file__).with_name("cases").glob(f"{os.environ.get('SONDE_CASES', '*')}.txt"))
CASES = [case for file in FILES for case in transcript.read(file)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}: {case.name}")
def test_case(case, run_sonde, request, tmp_path_factory):
    needs_data = any("DATA/" in case.fill(step.text) for step in case.steps)
    data = request.getfixturevalue("shared_data") if needs_data else None

    def new_place():
        return Place(run_sonde, data, tmp_path_factory.mktemp("case"))

    transcript.check(case, new_place)
