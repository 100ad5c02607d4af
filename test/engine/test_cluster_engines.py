"""`sonde cluster --engine`: the result is that of one machine, also where workers are killed.

`make test` takes a few modes; `make test-engine` takes all, and kills more often.
"""

import os
import random
import shutil
import subprocess
import threading

import pytest
from cluster_modes import EIGHT, TEXTS, all_modes, contents, words_of
from conftest import SONDE, kill

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
MODES = all_modes(SONDE) if THOROUGH else ["all", "slow_rank", "filter_db"]


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


def many_ranks(shared_data, folder, count):
    """Copies under other numbers: more parts than workers."""
    spans = sorted((shared_data / EIGHT).glob("*_ascend_pt"))
    for number in range(count):
        source = spans[number % len(spans)]
        own = folder / f"node{number}_{source.name.partition('_')[2]}"
        shutil.copytree(source, own)
        for name in own.rglob("*_[0-9]*.*"):
            if name.name.startswith(("ascend_pytorch_profiler_", "profiler_info_")):
                name.rename(name.with_name(f"{name.stem.rpartition('_')[0]}_{number}{name.suffix}"))
    return folder


@pytest.mark.parametrize("seed", range(20 if THOROUGH else 1))
def test_workers_that_are_killed_are_made_up_for(seed, cluster, both, shared_data, tmp_path):
    """At a random moment, one that works; it may be that none does."""
    ranks = many_ranks(shared_data, tmp_path / "ranks", 24)
    moment = random.Random(seed)
    ended = threading.Event()
    killed = []

    def kill_some():
        while not ended.wait(0.02):
            working = cluster.workers()
            if working and len(killed) < 2 and moment.random() < 0.2:
                killed.append(working[moment.randrange(len(working))])
                kill(killed[-1])

    thread = threading.Thread(target=kill_some)
    thread.start()
    try:
        one, _ = both("-m", "slow_rank", "-d", ranks)
    finally:
        ended.set()
        thread.join()
    assert one.returncode == 0, one.stderr
    assert not list((tmp_path / "many/cluster_parts").glob(".*"))


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
