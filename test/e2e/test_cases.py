"""Commands and what comes of them, as text: test/e2e/cases, in the form of transcript.py."""

from pathlib import Path

import pytest
import transcript

FILES = sorted(Path(__file__).with_name("cases").glob("*.txt"))
CASES = [case for file in FILES for case in transcript.read(file)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file.stem}: {case.name}")
def test_case(case, run_sonde, shared_data, tmp_path):
    transcript.check(case, transcript.Place(run_sonde, shared_data, tmp_path))
