"""Several processes share the ranks by way of parts: the result is that of one, whoever ends."""

import os
import pty
import shutil
import signal
import sqlite3
import subprocess

import pytest
from cluster_modes import EIGHT, TEXTS, all_modes, contents, words_of
from conftest import SONDE

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"


def process_of(number, count):
    return {"OMPI_COMM_WORLD_RANK": str(number), "OMPI_COMM_WORLD_SIZE": str(count)}


def own_environment():
    """Without the variables that a launcher set for these tests."""
    launchers = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "TORCHELASTIC_", "SONDE_")
    return {name: text for name, text in os.environ.items() if not name.startswith(launchers)}


def end_all(processes):
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def start(sonde, tmp_path):
    """Starts a process of several; what is left is ended with the test."""
    started = []

    def start(number, count, *words, environment=None, stdin=subprocess.DEVNULL):
        variables = {**own_environment(), "XDG_CACHE_HOME": str(tmp_path / f"cache{number}")}
        variables |= process_of(number, count) if environment is None else environment
        command = [str(word) for word in (sonde, "cluster", *words)]
        process = subprocess.Popen(
            command, env=variables, stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    end_all(started)


def end_of(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def ranks_of(shared_data):
    return sorted((shared_data / EIGHT).iterdir())


SAMPLE = [
    "all",
    "slow_rank",
    "module_statistic",
    "hccl_sum",
    "communication_bottleneck",
    "collective_skew",
    "compute_op_sum",
    "export_summary",
    "filter_db",
]
# Each with so many processes; `make test-thorough` takes all.
SHARES = [(mode, 3) for mode in SAMPLE]
if THOROUGH:
    SHARES = [(mode, count) for mode in all_modes(SONDE) for count in (1, 3, 8)]


def of_one(text, tmp_path, name):
    """What was printed, with the folder of the results of one process."""
    return text.replace(str(tmp_path / name), str(tmp_path / "one"))


@pytest.fixture
def one(run_sonde, tmp_path):
    """Runs a mode in one process; returns what it prints."""

    def one(*options):
        done = run_sonde("cluster", *options, "-o", tmp_path / "one")
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "one/cluster_parts").exists()  # one machine notices nothing
        return done.stdout

    return one


def results(folder):
    found = contents(folder / "cluster_analysis_output")
    assert found
    return found


@pytest.mark.parametrize(("mode", "count"), SHARES)
def test_the_result_is_that_of_one_process(mode, count, shared_data, one, start, tmp_path):
    options = words_of(mode, shared_data / EIGHT)
    printed = one(*options)
    words = (*options, "-o", tmp_path / "many", "--parts", tmp_path / "parts")
    ends = [end_of(process) for process in [start(i, count, *words) for i in range(count)]]
    assert [code for code, _, _ in ends] == [0] * count, ends
    assert of_one(ends[0][1], tmp_path, "many") == printed
    assert not any(out for _, out, _ in ends[1:])  # the first alone has results
    assert results(tmp_path / "many") == results(tmp_path / "one")


@pytest.mark.parametrize("mode", SAMPLE[:4])
def test_the_steps_by_themselves(mode, shared_data, one, run_sonde, tmp_path):
    """Map in three shares, shuffle, map again, reduce; a second time nothing is written."""
    ranks = shared_data / EIGHT
    _, _, _, _, *words = options = words_of(mode, ranks)
    printed = one(*options)
    parts = tmp_path / "parts"
    for number in range(3):
        done = run_sonde("cluster", "map", "-m", mode, ranks, "-o", parts, "--part", f"{number}/3")
        assert done.returncode == 0, done.stderr
    made = {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert all(path.suffix == ".parquet" for path in made)
    again = run_sonde("cluster", "map", "-m", mode, ranks, "-o", parts)
    assert again.returncode == 0, again.stderr
    assert sorted(again.stdout.split()) == sorted(map(str, made))
    assert {path: path.stat().st_mtime_ns for path in parts.iterdir()} == made
    look = run_sonde("cluster", "map", "-m", "slow_rank", ranks, "-o", parts)  # that `all` takes
    assert look.returncode == 0, look.stderr
    done = run_sonde("cluster", "reduce", "-m", mode, parts, "-o", tmp_path / "three", *words)
    assert done.returncode == 0, done.stderr
    assert of_one(done.stdout, tmp_path, "three") == printed
    assert results(tmp_path / "three") == results(tmp_path / "one")


def test_texts_and_another_run(shared_data, one, start, tmp_path):
    """Texts make `all` write text, and a base run goes by parts as well."""
    options = ("-d", shared_data / TEXTS)
    base = ("-m", "cluster_time_compare_summary", "--bp", shared_data / TEXTS)
    for number, words in enumerate([options, (*options, *base)]):
        one(*words)
        two = tmp_path / f"two{number}"
        for code, _, err in map(end_of, [start(i, 2, *words, "-o", two) for i in (0, 1)]):
            assert code == 0, err
        assert results(two) == results(tmp_path / "one")
        shutil.rmtree(tmp_path / "one")


@pytest.fixture
def host(sonde, tmp_path):
    """Runs a command in namespaces of its own, in which `place` is a folder of its own, too."""
    if os.geteuid() != 0:
        pytest.skip("needs root: namespaces of mounts")
    probe = subprocess.run(["unshare", "-mn", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("needs namespaces: this machine makes none")

    def host(own, place, *words):
        variables = {**own_environment(), "XDG_CACHE_HOME": str(tmp_path / f"cache-{own.name}")}
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        command = ["unshare", "-mn", "sh", "-c", script, "sh", own, place, sonde, "cluster", *words]
        done = subprocess.run(
            [str(word) for word in command],
            env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    return host


@pytest.mark.parametrize("mode", ["slow_rank", "hccl_sum"])
def test_each_host_sees_its_own_ranks(mode, host, shared_data, tmp_path):
    """The same folder holds other ranks on each of two hosts; who reduces has none."""
    place = tmp_path / "profile"
    whole = tmp_path / "whole"
    own = [tmp_path / f"host{number}" for number in range(3)]
    for folder in (place, whole, *own):
        folder.mkdir()
    for rank, folder in enumerate(ranks_of(shared_data)):
        shutil.copytree(folder, own[1 + rank % 2] / folder.name)
        shutil.copytree(folder, whole / folder.name)
    host(whole, place, "-m", mode, "-d", place, "-o", tmp_path / "one")
    for folder in own[1:]:
        host(folder, place, "map", "-m", mode, place, "-o", tmp_path / "parts")
    host(own[0], place, "reduce", "-m", mode, tmp_path / "parts", "-o", tmp_path / "three")
    assert results(tmp_path / "three") == results(tmp_path / "one")


def test_who_is_killed_loses_only_its_share(shared_data, one, start, tmp_path):
    """The first, when it has the results of nobody: a later call makes up its share, and does not
    repeat what is there."""
    options = ("-m", "hccl_sum", "-d", shared_data / EIGHT)
    printed = one(*options)
    words = (*options, "-o", tmp_path / "two")
    first = start(0, 2, *words)
    first.send_signal(signal.SIGSTOP)
    first.kill()
    assert end_of(first)[0] == -signal.SIGKILL
    assert end_of(start(1, 2, *words))[0] == 0
    parts = tmp_path / "two/cluster_parts"
    made = {path: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
    assert made
    assert not (tmp_path / "two/cluster_analysis_output/cluster_analysis.db").exists()
    code, out, err = end_of(start(0, 1, *words, environment={}))
    assert code == 0, err
    assert of_one(out, tmp_path, "two") == printed
    assert results(tmp_path / "two") == results(tmp_path / "one")
    assert all(path.stat().st_mtime_ns == time for path, time in made.items())


def test_who_is_stopped_is_not_awaited(shared_data, one, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT)
    printed = one(*options)
    words = (*options, "-o", tmp_path / "two")
    other = start(1, 2, *words)
    other.send_signal(signal.SIGSTOP)
    code, out, err = end_of(start(0, 2, *words))
    assert code == 0, err
    assert of_one(out, tmp_path, "two") == printed
    other.send_signal(signal.SIGCONT)  # what it does then changes nothing
    code, _, err = end_of(other)
    assert code == 0, err
    assert results(tmp_path / "two") == results(tmp_path / "one")


def errors_of(err):
    return sorted(line for line in err.splitlines() if line.startswith("sonde: error: "))


def test_a_rank_that_cannot_be_taken_is_named(shared_data, run_sonde, start, tmp_path):
    """As one process does it, whichever of the two had the rank."""
    ranks = shutil.copytree(shared_data / EIGHT, tmp_path / "ranks")
    for rank in (4, 5):
        (file,) = ranks.rglob(f"ascend_pytorch_profiler_{rank}.db")
        with sqlite3.connect(file) as db:
            db.execute("UPDATE STEP_TIME SET id = 99")
    options = ("-m", "hccl_sum", "-d", ranks, "--step_id", "50")
    one = run_sonde("cluster", *options, "-o", tmp_path / "one")
    assert one.returncode == 1
    assert len(errors_of(one.stderr)) == 1 and "there is no step 50" in one.stderr
    first, other = [start(i, 2, *options, "-o", tmp_path / "two") for i in range(2)]
    assert end_of(other)[0] == 0
    code, out, err = end_of(first)
    assert code == 1
    assert errors_of(err) == errors_of(one.stderr)
    assert out == of_one(one.stdout, tmp_path, "one").replace(
        str(tmp_path / "one"), str(tmp_path / "two")
    )
    assert contents(tmp_path / "two/cluster_analysis_output") == results(tmp_path / "one")


def test_a_rank_that_was_repaired_is_done_again(shared_data, start, one, tmp_path):
    """A failure is no part that is kept."""
    whole = shared_data / EIGHT
    ranks = shutil.copytree(whole, tmp_path / "ranks")
    (file,) = ranks.rglob("ascend_pytorch_profiler_5.db")
    bytes_of_rank = file.read_bytes()
    file.write_bytes(b"no database")
    words = ("-m", "hccl_sum", "-d", ranks, "-o", tmp_path / "out")
    ends = [end_of(process) for process in [start(i, 2, *words) for i in range(2)]]
    assert [code for code, _, _ in ends] == [1, 0]
    (error,) = errors_of(ends[0][2])
    assert f"{file.parents[1]}: " in error and "file_unreadable (1)" in error
    assert "missing from the results" in error
    file.write_bytes(bytes_of_rank)
    assert end_of(start(0, 2, *words))[0] == 0
    one("-m", "hccl_sum", "-d", ranks)
    assert results(tmp_path / "out") == results(tmp_path / "one")


def test_parts_of_others_are_refused(shared_data, run_sonde, tmp_path):
    """In one line each: no part, another program, other options."""
    ranks = shared_data / EIGHT
    done = run_sonde("cluster", "map", "-m", "hccl_sum", ranks, "-o", tmp_path / "parts")
    assert done.returncode == 0, done.stderr
    reduce = ("cluster", "reduce", "-m", "hccl_sum", "-o", tmp_path / "out")

    def refused(*words):
        done = run_sonde(*reduce, *words)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        return line

    assert "mapped with other options" in refused(tmp_path / "parts", "--step_id", "1")
    (part, *others) = sorted((tmp_path / "parts").iterdir())
    content = part.read_bytes()
    place = content.index(b" (build ") + len(b" (build ")
    part.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert "map it again with this one" in refused(part, *others)
    part.write_bytes(content[:-100])
    assert f"'{part}' cannot be read" in refused(tmp_path / "parts")
    part.unlink()
    missing = run_sonde(*reduce, tmp_path / "parts")
    assert missing.returncode == 0 and "of 0 to 7" in missing.stderr  # ranks, as ever
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no parts" in refused(empty)


def test_parts_are_tables_that_others_read(shared_data, run_sonde, tmp_path):
    """A row a rank, a column a list of rows with the names of the program."""
    done = run_sonde("cluster", "map", "-m", "slow_rank", shared_data / EIGHT, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    statement = (
        "SELECT rank, len(SlowRankOpRow) AS calls, SlowRankOpRow[1].name AS first "
        f"FROM read_parquet('{tmp_path}/*.parquet') ORDER BY rank"
    )
    asked = run_sonde("query", "--read-files", shared_data / EIGHT, statement, "--format", "csv")
    assert asked.returncode == 0, asked.stderr
    rows = asked.stdout.split()
    assert rows[0] == "rank,calls,first"
    assert [row.split(",")[0] for row in rows[1:]] == [str(rank) for rank in range(8)]


def test_alone_shares_nothing(shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT)
    assert end_of(start(3, 8, *options, "-o", tmp_path / "alone", "--alone"))[0] == 0
    assert not (tmp_path / "alone/cluster_parts").exists()
    assert (tmp_path / "alone/cluster_analysis_output").exists()


def test_words_that_cannot_be(shared_data, run_sonde, tmp_path):
    for share in ("8/8", "x"):
        done = run_sonde("cluster", "-d", shared_data / EIGHT, "-o", tmp_path, "--part", share)
        assert done.returncode == 1
        assert "--part must be a number" in done.stderr
    done = run_sonde("cluster", "map", "-m", "filter_db", shared_data / EIGHT, "-o", tmp_path)
    assert done.returncode == 1
    assert "name their folder with --results" in done.stderr
    done = run_sonde("cluster", "map", "-m", "no_mode", shared_data / EIGHT, "-o", tmp_path)
    assert done.returncode == 1
    assert "no mode that is mapped by itself" in done.stderr
    done = run_sonde("cluster", "reduce", "-m", "hccl_sum", tmp_path / "gone", "-o", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"sonde: error: '{tmp_path}/gone' does not exist"]


SLURM = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8"}


@pytest.mark.parametrize(
    "environment",
    [
        SLURM,  # the script of a job
        SLURM | {"SLURM_STEP_ID": "4294967290"},  # the shell of salloc
        SLURM | {"SLURM_STEP_ID": "0", "SLURM_PTY_PORT": "40001"},  # srun --pty bash
        SLURM | {"SLURM_STEP_ID": "0", "TORCHELASTIC_RUN_ID": "none"},  # srun torchrun
        {"RANK": "0", "WORLD_SIZE": "8", "LOCAL_RANK": "0"},
        {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
        {"PMI_RANK": "8", "PMI_SIZE": "8"},
    ],
)
def test_variables_of_others_make_no_shares(environment, shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT)
    code, _, err = end_of(start(0, 1, *options, "-o", tmp_path, environment=environment))
    assert code == 0, err
    assert "each has a share of the ranks" not in err


def test_a_shell_of_a_launcher_has_no_share(shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT, "-o", tmp_path)
    ours, its = pty.openpty()
    try:
        code, _, err = end_of(start(0, 8, *options, stdin=its))
    finally:
        os.close(ours)
        os.close(its)
    assert code == 0, err
    assert "each has a share of the ranks" not in err


@pytest.mark.parametrize("number_name", ["PMI_RANK", "SLURM_PROCID"])
def test_other_launchers_are_known(number_name, shared_data, start, tmp_path):
    count_name = {"PMI_RANK": "PMI_SIZE", "SLURM_PROCID": "SLURM_STEP_NUM_TASKS"}[number_name]
    options = ("-m", "hccl_sum", "-d", shared_data / EIGHT, "-o", tmp_path)
    two = [
        start(
            0, 1, *options, environment={number_name: str(i), count_name: "2", "SLURM_STEP_ID": "0"}
        )
        for i in range(2)
    ]
    (code, _, err), (other_code, _, other_err) = map(end_of, two)
    assert (code, other_code) == (0, 0), err + other_err
    assert f"process 0 of 2, as {count_name} states: each has a share of the ranks" in err


@pytest.fixture
def mpirun():
    """Open MPI's launcher, which starts the given processes."""
    command = shutil.which("mpirun")
    if command is None:
        pytest.skip("needs mpirun: Open MPI is not here")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    if "Open MPI" not in version.stdout:
        pytest.skip("needs mpirun: the one here is not Open MPI's")
    return [command, "--allow-run-as-root", "--oversubscribe"]


def test_mpirun_starts_them(mpirun, sonde, shared_data, run_sonde, tmp_path):
    options = ("-m", "hccl_sum", "-d", shared_data / EIGHT)
    one = run_sonde("cluster", *options, "-o", tmp_path / "one")
    assert one.returncode == 0, one.stderr
    three = (*mpirun, "-n", "3", sonde, "cluster", *options, "-o", tmp_path / "three")
    done = subprocess.run(
        [str(word) for word in three],
        env={**own_environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "process 0 of 3, as OMPI_COMM_WORLD_SIZE states: each has a share" in done.stderr
    assert results(tmp_path / "three") == results(tmp_path / "one")
