"""An allocator before the C library's, as manuals of servers preload one (tcmalloc, jemalloc): what
it handed out comes back to it, whoever frees it. Programs under `sonde run` have it, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SET = "ascend_pt/db/level1/rank0_ascend_pt"


@pytest.fixture(scope="module", name="allocator")
def build(tmp_path_factory):
    library = tmp_path_factory.mktemp("allocator") / "marked_memory.so"
    source = Path(__file__).parent / "programs" / "marked_memory.c"
    command = ["cc", "-O1", "-fPIC", "-shared", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)
    return library


def test_stores_are_made_and_asked(sonde, shared_data, allocator, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(allocator),
                   "XDG_CACHE_HOME": str(tmp_path)}  # fmt: skip
    asked = [sonde, "query", shared_data / SET, "--format", "csv",
             "SELECT name, count(*) AS n FROM slice GROUP BY ALL ORDER BY ALL"]  # fmt: skip
    answers = []
    for _ in range(2):  # made, then opened
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        answers.append(done.stdout)
    plain = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert answers == [plain, plain] and len(plain.splitlines()) > 10


def test_programs_keep_it(sonde, allocator, tmp_path):
    program = "import os; print(os.environ['LD_PRELOAD'])"
    done = subprocess.run([sonde, "run", "--", sys.executable, "-c", program],
                          env={**os.environ, "LD_PRELOAD": str(allocator)}, cwd=tmp_path,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert str(allocator) in done.stdout
