"""Several processes share the ranks: the result is that of one, and who ends is named."""

import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import time
import zipfile

import pytest

EIGHT = "ascend_pt/synth8_tp_pp_dp"
TEXTS = "ascend_pt/qwen3_tp1_pp2"
# A time that no machine reaches; the tests end when what they wait for is there.
PATIENCE = ("--patience", "600")


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


def contents(folder):
    """All cells of all tables, and all files that are no database.

    Of a workbook all but when it was made."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".db":
            with sqlite3.connect(path) as db:
                tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                for (table,) in tables.fetchall():
                    found[name, table] = db.execute(f'SELECT * FROM "{table}"').fetchall()
        elif path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                for part in set(book.namelist()) - {"docProps/core.xml"}:
                    found[name, part] = book.read(part)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def ranks_of(shared_data):
    return sorted((shared_data / EIGHT).iterdir())


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("all", ()),
        ("slow_rank", ()),
        ("module_statistic", ("--export_type", "text")),
        ("hccl_sum", ("--export_type", "notebook")),
        ("cluster_time_summary", ()),
        ("communication_bottleneck", ("--rank_id", "3")),
        ("collective_skew", ()),
        ("free_analysis", ()),
        ("compute_op_sum", ("--rank_list", "1,4,5")),
        ("export_summary", ()),
    ],
)
def test_the_result_is_that_of_one_process(mode, words, shared_data, run_sonde, start, tmp_path):
    options = ("-m", mode, "-d", shared_data / EIGHT, *words)
    one = run_sonde("cluster", *options, "-o", tmp_path / "one")
    assert one.returncode == 0, one.stderr
    three = [start(i, 3, *options, "-o", tmp_path / "three", *PATIENCE) for i in (2, 0, 1)]
    ends = [end_of(process) for process in three]
    assert [code for code, _, _ in ends] == [0, 0, 0], ends
    assert ends[0][1] == ends[2][1] == ""  # the first alone has results
    assert ends[1][1].replace(str(tmp_path / "three"), str(tmp_path / "one")) == one.stdout
    both = [contents(tmp_path / name / "cluster_analysis_output") for name in ("one", "three")]
    assert both[0]
    assert both[1] == both[0]


def test_texts_and_another_run(shared_data, run_sonde, start, tmp_path):
    """Texts make `all` write text, and a base run is shared out as well."""
    options = ("-d", shared_data / TEXTS)
    base = ("-m", "cluster_time_compare_summary", "--bp", shared_data / TEXTS)
    for number, words in enumerate([options, (*options, *base)]):
        one, two = tmp_path / f"one{number}", tmp_path / f"two{number}"
        alone = run_sonde("cluster", *words, "-o", one)
        assert alone.returncode == 0, alone.stderr
        for code, _, err in map(
            end_of, [start(i, 2, *words, "-o", two, *PATIENCE) for i in (0, 1)]
        ):
            assert code == 0, err
        assert contents(two) == contents(one)


@pytest.fixture
def host(sonde, tmp_path):
    """Runs a process in namespaces of its own, in which `place` is a folder of its own, too."""
    if os.geteuid() != 0:
        pytest.skip("needs root: namespaces of mounts")
    probe = subprocess.run(["unshare", "-mn", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("needs namespaces: this machine makes none")
    started = []

    def host(number, count, own, place, *words):
        variables = {**own_environment(), "XDG_CACHE_HOME": str(tmp_path / f"cache{number}")}
        variables |= process_of(number, count)
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        command = ["unshare", "-mn", "sh", "-c", script, "sh", own, place, sonde, "cluster", *words]
        process = subprocess.Popen(
            [str(word) for word in command],
            env=variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield host
    end_all(started)


@pytest.mark.parametrize("mode", ["all", "slow_rank", "hccl_sum"])
def test_each_host_sees_its_own_ranks(mode, host, shared_data, tmp_path):
    """The same folder holds other ranks on each of three hosts; the first has none."""
    place = tmp_path / "profile"
    whole = tmp_path / "whole"
    own = [tmp_path / f"host{number}" for number in range(3)]
    for folder in (place, whole, *own):
        folder.mkdir()
    for rank, folder in enumerate(ranks_of(shared_data)):
        shutil.copytree(folder, own[1 + rank % 2] / folder.name)
        shutil.copytree(folder, whole / folder.name)
    one = host(0, 1, whole, place, "-m", mode, "-d", place, "-o", tmp_path / "one")
    code, _, err = end_of(one)
    assert code == 0, err
    words = ("-m", mode, "-d", place, "-o", tmp_path / "three", *PATIENCE)
    for code, _, err in map(end_of, [host(i, 3, own[i], place, *words) for i in range(3)]):
        assert code == 0, err
    assert contents(tmp_path / "three") == contents(tmp_path / "one")


def wait_for(look):
    for _ in range(1200):
        if look():
            return
        time.sleep(0.1)
    raise AssertionError("it does not come")


def test_a_process_that_ends_is_named(shared_data, start, tmp_path):
    """It is killed when it has listed the ranks that it sees, while the first is held: it gets no
    rank done."""
    options = ("-m", "hccl_sum", "-d", shared_data / EIGHT, "-o", tmp_path / "out", *PATIENCE)
    rendezvous = tmp_path / "out/cluster_analysis_output/rendezvous"
    first = start(0, 2, *options)
    wait_for(lambda: (rendezvous / "head").exists())
    first.send_signal(signal.SIGSTOP)
    other = start(1, 2, *options)
    wait_for(lambda: list(rendezvous.glob("*.hello.1")))
    other.send_signal(signal.SIGSTOP)
    first.send_signal(signal.SIGCONT)
    wait_for(lambda: list(rendezvous.glob("*.ask.0")))
    first.send_signal(signal.SIGSTOP)
    other.send_signal(signal.SIGCONT)
    wait_for(lambda: list(rendezvous.glob("*.answer.0.1")))
    other.kill()
    assert end_of(other)[0] == -signal.SIGKILL
    first.send_signal(signal.SIGCONT)
    code, out, err = end_of(first)
    assert code == 1, err
    assert "process 1 of 2 on " in err and "has ended before it was done" in err, err
    (unread,) = [line for line in err.splitlines() if "the process that was to read it" in line]
    assert len([rank for rank in ranks_of(shared_data) if rank.name in unread]) == 4  # half of them
    assert "hcom_allReduce_" in out
    assert not rendezvous.exists()


def test_a_process_that_does_not_come_is_named(shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT, "-o", tmp_path, "--patience", "1")
    code, out, err = end_of(start(0, 2, *options))
    assert code == 1
    assert "process 1 of 2: did not appear in the common folder within 1 s" in err
    assert out  # what the first sees is there
    code, _, err = end_of(start(1, 2, *options))
    assert code == 1
    assert "process 0 of 2 did not appear in" in err and "--meet DIR" in err


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
    first, other = [start(i, 2, *options, "-o", tmp_path / "two", *PATIENCE) for i in range(2)]
    assert end_of(other)[0] == 0
    code, out, err = end_of(first)
    assert code == 1
    assert errors_of(err) == errors_of(one.stderr)
    assert out == one.stdout.replace(str(tmp_path / "one"), str(tmp_path / "two"))
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_a_damaged_rank_is_named(shared_data, start, tmp_path):
    ranks = shutil.copytree(shared_data / EIGHT, tmp_path / "ranks")
    (file,) = ranks.rglob("ascend_pytorch_profiler_5.db")
    file.write_bytes(b"no database")
    options = ("-m", "hccl_sum", "-d", ranks, "-o", tmp_path / "out", *PATIENCE)
    ends = [end_of(process) for process in [start(i, 2, *options) for i in range(2)]]
    assert [code for code, _, _ in ends] == [1, 0]
    (error,) = errors_of(ends[0][2])
    assert f"{file.parents[1]}: " in error and "file_unreadable (1)" in error
    assert "missing from the results" in error


def test_alone_waits_for_nobody(shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT, *PATIENCE)
    assert end_of(start(3, 8, *options, "-o", tmp_path / "alone", "--alone"))[0] == 0


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
def test_variables_of_others_make_nobody_wait(environment, shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT, *PATIENCE)
    code, _, err = end_of(start(0, 1, *options, "-o", tmp_path, environment=environment))
    assert code == 0, err
    assert "they share the ranks" not in err


def test_a_shell_of_a_launcher_waits_for_nobody(shared_data, start, tmp_path):
    options = ("-m", "all", "-d", shared_data / EIGHT, "-o", tmp_path, *PATIENCE)
    ours, its = pty.openpty()
    try:
        code, _, err = end_of(start(0, 8, *options, stdin=its))
    finally:
        os.close(ours)
        os.close(its)
    assert code == 0, err
    assert "they share the ranks" not in err


@pytest.mark.parametrize("number_name", ["PMI_RANK", "SLURM_PROCID"])
def test_other_launchers_are_known(number_name, shared_data, start, tmp_path):
    count_name = {"PMI_RANK": "PMI_SIZE", "SLURM_PROCID": "SLURM_STEP_NUM_TASKS"}[number_name]
    options = ("-m", "hccl_sum", "-d", shared_data / EIGHT, "-o", tmp_path, *PATIENCE)
    two = [
        start(
            0, 1, *options, environment={number_name: str(i), count_name: "2", "SLURM_STEP_ID": "0"}
        )
        for i in range(2)
    ]
    (code, _, err), (other_code, _, other_err) = map(end_of, two)
    assert (code, other_code) == (0, 0), err + other_err
    assert f"process 0 of 2, as {count_name} states: they share the ranks" in err


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
    three = (*mpirun, "-n", "3", sonde, "cluster", *options, "-o", tmp_path / "three", *PATIENCE)
    done = subprocess.run(
        [str(word) for word in three],
        env={**own_environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "process 0 of 3, as OMPI_COMM_WORLD_SIZE states: they share the ranks" in done.stderr
    assert contents(tmp_path / "three") == contents(tmp_path / "one")
