"""What a unit of the suite depends on: what its own processes open."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from opened_files import OpenedFiles, is_possible  # noqa: E402

pytestmark = pytest.mark.skipif(not is_possible(), reason="needs root: who opens files is asked")


def opened_by(watched, commands):
    """What each of these commands, run side by side, opened."""
    found, together = {}, threading.Barrier(len(commands))

    def run(command):
        interval = watched.begin()
        together.wait()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        together.wait()
        assert watched.end(interval).complete
        found[tuple(command)] = {os.path.basename(path) for path in interval.opened}

    threads = [threading.Thread(target=run, args=(command,)) for command in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[tuple(command)] for command in commands]


@pytest.fixture(name="watched")
def watch(tmp_path):
    (tmp_path / "left").mkdir()
    for name in ("a", "b", "left/c", "own mounts"):
        (tmp_path / name).touch()
    watched = OpenedFiles([tmp_path], [tmp_path / "left"])
    yield watched
    watched.close()


def test_each_has_what_its_own_processes_open(watched, tmp_path):
    """Also a process without parents, session and environment, which ends at once."""
    first, second = opened_by(watched, [
        ["sh", "-c", f"cd {tmp_path}; (setsid env -i cat a &); cat left/c; sleep 0.1"],
        ["sh", "-c", f"cat {tmp_path}/b; ls {tmp_path}; cat {tmp_path}/none"],
    ])  # fmt: skip
    assert first == {"a"} and second == {"b", tmp_path.name}


def test_where_it_is_unknown_who_opened_it_counts_for_all(watched, tmp_path):
    own = ["unshare", "--mount", "cat", f"{tmp_path}/own mounts"]
    assert opened_by(watched, [own, ["true"]]) == [{"own mounts"}, {"own mounts"}]
