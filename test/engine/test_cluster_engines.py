"""`sonde cluster --engine`: the result is that of one machine, also where workers are killed.

`make test` takes a few modes; `make test-engine` takes all, and kills more often.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import threading

import pytest
from cluster_modes import EIGHT, TEXTS, all_modes, contents, words_of
from conftest import SONDE, below, kill, many_ranks, send

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
MODES = all_modes(SONDE) if THOROUGH else ["all", "slow_rank", "filter_db"]
KINDS = ["killed", "stopped", "node", "full", "head"] if THOROUGH else ["killed"]
KILLS = int(os.environ.get("SONDE_KILLS", "20" if THOROUGH else "1"))  # of each kind


def run(words, environment, **options):
    return subprocess.run(
        [str(word) for word in (SONDE, "cluster", *words)], env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
        **options,
    )  # fmt: skip


@pytest.fixture(name="both")
def make_both(cluster, environment, tmp_path):
    """Runs a command on one machine and on the engine; the first may fail, the second like it."""

    def both(*words, **options):
        one = run((*words, "-o", tmp_path / "one"), environment)
        many = ("-o", tmp_path / "many", "--engine", cluster.address)
        there = run((*words, *many), cluster.environment, **options)
        assert there.returncode == one.returncode, there.stderr
        assert there.stdout.replace(str(tmp_path / "many"), str(tmp_path / "one")) == one.stdout
        results = [tmp_path / name / "cluster_analysis_output" for name in ("one", "many")]
        assert contents(results[1]) == contents(results[0])
        return one, there

    return both


@pytest.mark.parametrize("mode", MODES)
def test_the_result_is_that_of_one_machine(mode, both, shared_data):
    both(*words_of(mode, shared_data / EIGHT))


def test_texts_make_texts(both, shared_data):
    one, _ = both("-d", shared_data / TEXTS)
    assert one.returncode == 0, one.stderr


@pytest.fixture(scope="module", name="ranks")
def make_ranks(shared_data, tmp_path_factory):
    """More parts than workers."""
    return many_ranks(shared_data, tmp_path_factory.mktemp("ranks"), 48)


def stop(cluster, working, moment):
    """One worker, with the command that it runs; it goes on at the end."""
    worker = working[moment.randrange(len(working))]
    stopped = [worker, *below(worker, "")]
    for number in stopped:
        send(number, signal.SIGSTOP)

    def go_on():
        for number in stopped:
            send(number, signal.SIGCONT)

    return go_on


class Loss:
    """What happens to a cluster at a random moment after its work has begun."""

    def __init__(self, kind, seed, cluster, disk):
        self._kind, self._cluster, self._disk = kind, cluster, disk
        self._moment = random.Random(f"{kind} {seed}")
        self._ended = threading.Event()
        self._undo = []
        if kind in ("node", "full"):
            variables = {"TMPDIR": str(disk)} if kind == "full" else {}
            self._undo.append(cluster.add_node(**variables))
        self.has_happened = False
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self):
        while not self._ended.wait(0.02):
            working = self._cluster.workers()
            if working:
                self._ended.wait(self._moment.random())
                self._happen(self._cluster.workers() or working)
                self.has_happened = True
                return

    def _happen(self, working):
        if self._kind == "killed":
            kill(working[self._moment.randrange(len(working))])
        elif self._kind == "stopped":
            self._undo.append(stop(self._cluster, working, self._moment))
        elif self._kind == "node":
            self._undo.pop()()
        elif self._kind == "full":
            with open(self._disk / "full", "wb") as file, contextlib.suppress(OSError):
                file.write(bytes(1 << 20))
        else:
            self._cluster.restart_head()

    def end(self):
        self._ended.set()
        self._thread.join()
        for undo in self._undo:
            undo()


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_is_made_up_for(kind, seed, cluster, both, ranks, mount_disk, tmp_path):
    """Two clusters of three workers; a part of a head that is lost is not made again."""
    if cluster.count != 3:
        pytest.skip("of three workers")
    loss = Loss(kind, seed, cluster, mount_disk("1m") if kind == "full" else None)
    try:
        one, there = both("-m", "slow_rank", "-d", ranks)
    finally:
        loss.end()
    assert one.returncode == 0, one.stderr
    print(f"{kind} {seed}: {'in time' if loss.has_happened else 'too late'}")
    assert not list((tmp_path / "many/cluster_parts").glob(".*"))
    assert not list((tmp_path / "many/cluster_parts").glob("*.failed.*"))


def test_a_rank_that_cannot_be_read_is_named(both, shared_data, tmp_path):
    ranks = shutil.copytree(shared_data / EIGHT, tmp_path / "ranks")
    (file,) = ranks.rglob("ascend_pytorch_profiler_5.db")
    file.write_bytes(b"no database")
    one, there = both("-m", "hccl_sum", "-d", ranks)
    assert one.returncode == 1
    errors = [
        sorted(line for line in end.stderr.splitlines() if line.startswith("sonde: error: "))
        for end in (one, there)
    ]
    assert errors[0] == errors[1] and "file_unreadable (1)" in errors[0][0]


def test_what_cannot_be_is_one_line(cluster, environment, shared_data, tmp_path):
    words = ("-m", "hccl_sum", "-d", shared_data / EIGHT, "-o", tmp_path)
    none = run((*words, "--engine", "abacus"), environment)
    assert none.returncode == 1
    assert none.stderr.splitlines()[-1].startswith("sonde: error: there is no engine 'abacus'")
    little = run((*words, "--engine", cluster.address, "--engine-memory", "1MB"),
                 cluster.environment)  # fmt: skip
    assert little.returncode == 1
    errors = [line for line in little.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1, little.stderr
    assert not (tmp_path / "cluster_analysis_output/cluster_analysis.db").exists()
