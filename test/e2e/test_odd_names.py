"""Folders and files may have any name: recorded into, read from, cached in."""

import json
import os
import subprocess

import pytest

NAMES = ["a?b#c%20d&e=f", 'it\'s "x"; --y', "空间 ü"]
PROGRAM = "import torch; torch.ones(3).add(1)"


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_in_a_folder_of_any_name(name, sonde, prepared, tmp_path):
    folder = tmp_path / name / "capture"
    cache = tmp_path / "cache" / name
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}

    def run(*words):
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, check=False, env=env
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sonde, "run", "--profile-save-path", folder, "--", prepared.python, "-c", PROGRAM)
    assert list(folder.glob("*/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    sql = "SELECT count(*) AS n FROM slice WHERE name = 'aten::add'"
    assert json.loads(run(sonde, "query", folder, sql, "--format", "json")) == [{"n": 1}]
    # From the profiler's own form, too, in a cache of that name: one trace, and several in a pack.
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    ]
    for rank in range(3):
        trace = {"distributedInfo": {"rank": rank}, "traceEvents": events}
        (tmp_path / name / f"{name} {rank}.json").write_text(json.dumps(trace))
    sql = "SELECT count(*) AS n FROM slice WHERE name = 'aten::mm'"
    for expected in (3, 3):
        found = run(sonde, "query", tmp_path / name, sql, "--format", "json")
        assert json.loads(found) == [{"n": expected}]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({name, "cache"})
