"""The job files of docs/cluster.md, as they stand there: those of Slurm on a Slurm of this machine,
that of Kubernetes by its schemas, its command as a container would run it. `make test-engine` runs
them.
"""

import json
import os
import random
import re
import shutil
import subprocess
import time

import pytest
from cluster_modes import EIGHT, all_modes, contents, words_of
from conftest import ROOT, SONDE, many_ranks
from slurm import SlurmCluster, missing

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
pytestmark = pytest.mark.skipif(not THOROUGH, reason="with SONDE_THOROUGH=1: make test-engine")
SHARES = 8


def block(beginning, page=ROOT / "docs/cluster.md"):
    """What stands between two fences and begins so."""
    found = re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    (text,) = [text for text in found if text.startswith(beginning)]
    return text


@pytest.fixture(scope="module", name="slurm")
def start_slurm(tmp_path_factory):
    reason = missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    shared = folder / "shared"
    shared.mkdir()
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "SLURM_"))}
    variables |= {"XDG_CACHE_HOME": str(folder / "cache"), "BEFORE_SONDE": "",
                  "PATH": f"{folder}/bin:{os.environ['PATH']}"}  # fmt: skip
    (folder / "bin").mkdir()
    # Who tests what lost tasks do puts a command before it.
    command = folder / "bin/sonde"
    command.write_text(f'#!/bin/sh\neval "$BEFORE_SONDE"\nexec {SONDE} "$@"\n')
    command.chmod(0o755)
    cluster = SlurmCluster(variables, folder, shared)
    yield cluster
    cluster.close()


@pytest.fixture(name="shared")
def make_shared(slurm, shared_data):
    """`/shared` with a job of 24 ranks, and the result of one machine."""
    slurm.cancel()  # what a test left that failed
    slurm.wait()
    for entry in slurm.shared.iterdir():
        shutil.rmtree(entry)
    (slurm.shared / "run").mkdir()
    many_ranks(shared_data, slurm.shared / "run", 24)
    slurm.run_on_node(
        [SONDE, "cluster", "-m", "slow_rank", "-d", "/shared/run", "-o", "/shared/one"]
    )
    return slurm.shared


def results(folder):
    found = contents(folder / "cluster_analysis_output")
    assert found
    return found


def submit(slurm, folder):
    """The two jobs of the page; returns their numbers."""
    (folder / "map.sh").write_text(block("#!/bin/bash\n#SBATCH"))
    before = set(slurm.states())
    slurm.run(["bash", "-c", block("job=$(sbatch")], cwd=folder)
    return {name.partition("_")[0] for name in set(slurm.states()) - before}


def ends(slurm, jobs):
    """How the tasks of the array ended, and how the job after it."""
    states = slurm.wait()
    own = {name: state for name, state in states.items() if name.partition("_")[0] in jobs}
    tasks = {name: state for name, state in own.items() if "_" in name}
    (last,) = [state for name, state in own.items() if "_" not in name]
    assert len(tasks) == SHARES
    return list(tasks.values()), last


def test_the_array_of_the_page(slurm, shared, tmp_path):
    tasks, last = ends(slurm, submit(slurm, tmp_path))
    assert set(tasks) == {"COMPLETED"} and last == "COMPLETED"
    assert results(shared / "out") == results(shared / "one")
    assert not list((shared / "parts").glob(".*"))


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_task_is_made_up_for(seed, slurm, shared, tmp_path):
    """At a random moment of its work, or before it; two of eight."""
    moment = random.Random(seed)
    lost = moment.sample(range(SHARES), 2)
    wait = moment.choice((0.001, 0.02, 0.05, 0.1))
    slurm.environment["BEFORE_SONDE"] = (
        f'case "$SLURM_ARRAY_TASK_ID" in {lost[0]}|{lost[1]}) exec timeout -s KILL {wait} {SONDE} '
        '"$@";; esac'
    )
    try:
        tasks, last = ends(slurm, submit(slurm, tmp_path))
    finally:
        slurm.environment["BEFORE_SONDE"] = ""
    assert tasks.count("COMPLETED") >= SHARES - 2 and last == "COMPLETED"
    print(f"{tasks.count('FAILED')} tasks lost after {wait} s")
    assert results(shared / "out") == results(shared / "one")
    assert not [path for path in shared.rglob(".*") if path.is_file()]


@pytest.mark.parametrize("seed", range(3))
def test_a_node_that_is_lost_is_made_up_for(seed, slurm, shared, tmp_path):
    """With the tasks on it; Slurm misses it after some seconds, and gives them to another."""
    slurm.environment["BEFORE_SONDE"] = "sleep 1"
    name = slurm.names[seed % 2]
    try:
        jobs = submit(slurm, tmp_path)
        while "RUNNING" not in slurm.states().values():
            time.sleep(0.05)
        time.sleep(random.Random(seed).random())
        slurm.lose_node(name)
        _, last = ends(slurm, jobs)
    finally:
        slurm.environment["BEFORE_SONDE"] = ""
        slurm.start_node(name)
        slurm.wait_for_nodes()
    assert last == "COMPLETED"
    assert results(shared / "out") == results(shared / "one")


@pytest.mark.parametrize("seed", range(3))
def test_a_head_that_is_restarted_loses_nothing(seed, slurm, shared, tmp_path):
    slurm.environment["BEFORE_SONDE"] = "sleep 0.5"
    try:
        jobs = submit(slurm, tmp_path)
        time.sleep(random.Random(seed).random() * 2)
        slurm.restart_head()
        tasks, last = ends(slurm, jobs)
    finally:
        slurm.environment["BEFORE_SONDE"] = ""
    assert set(tasks) == {"COMPLETED"} and last == "COMPLETED"
    assert results(shared / "out") == results(shared / "one")


def test_every_mode_by_an_array(slurm, shared, shared_data, tmp_path):
    """A task does its share of each mode; a call without a launcher finishes them."""
    modes = all_modes(SONDE)
    shutil.rmtree(shared / "run")
    shutil.copytree(shared_data / EIGHT, shared / "run")
    lines = []
    for mode in modes:
        words = " ".join(map(str, words_of(mode, "/shared/run")))
        lines.append(f"sonde cluster {words} -o /shared/{mode}")
        slurm.run_on_node(["sh", "-c", lines[-1].replace("sonde", str(SONDE), 1) + "-one"])
    share = "--part $SLURM_ARRAY_TASK_ID/3"
    script = "".join(f"{line} {share} || exit 1\n" for line in lines)
    (tmp_path / "map.sh").write_text(f"#!/bin/bash\n{script}")
    before = set(slurm.states())
    slurm.run(["sbatch", "--array=0-2", "map.sh"], cwd=tmp_path)
    states = slurm.wait()
    assert {states[name] for name in set(states) - before} == {"COMPLETED"}
    for mode, line in zip(modes, lines):
        slurm.run_on_node(["sh", "-c", line.replace("sonde", str(SONDE), 1)])
        assert results(shared / mode) == results(shared / f"{mode}-one"), mode


def test_a_step_has_shares(slurm, shared, tmp_path):
    """`srun` of the page: three processes of a step; and one a node, whose parts are reduced."""
    words = ["-m", "slow_rank", "-d", "/shared/run", "-o", "/shared/out"]
    slurm.run(["srun", "-n", "3", "sonde", "cluster", *words], cwd=tmp_path)
    assert results(shared / "out") == results(shared / "one")
    slurm.run(["srun", "-N", "2", "--ntasks-per-node=1", "sonde", "cluster", "map", "-m",
               "slow_rank", "/shared/run", "-o", "/shared/parts"], cwd=tmp_path)  # fmt: skip
    slurm.run_on_node([SONDE, "cluster", "reduce", "-m", "slow_rank", "/shared/parts", "-o",
                       "/shared/two"])  # fmt: skip
    assert results(shared / "two") == results(shared / "one")


def manifest(python):
    """The job of the page, as Kubernetes' API has it."""
    done = subprocess.run(
        [python, "-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"],
        input=block("apiVersion: batch/v1"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_the_kubernetes_job_is_valid(python, tmp_path):
    """By the schemas of releases from 1.25 on, where nothing unknown is let through."""
    path = tmp_path / "job.yaml"
    path.write_text(block("apiVersion: batch/v1"))
    for version in ("1.25", "1.30", "1.37"):
        command = [python, "-m", "kubernetes_validate", "--strict", "-k", version, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    path.write_text(path.read_text().replace("completionMode", "completionmode"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0


def test_the_command_of_the_kubernetes_job(slurm, shared, python):
    """Each index as a container would run it; one is killed, and its pod is started again, as
    `OnFailure` has it. pip, which would install Sonde, stands aside."""
    job = manifest(python)["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert job["completions"] == SHARES and job["completionMode"] == "Indexed"
    assert container["volumeMounts"][0]["mountPath"] == "/shared"
    pip = "pip() { [ \"$*\" = 'install sonde' ]; }; "
    *shell, script = container["command"]
    for index in range(SHARES):
        environment = [f"JOB_COMPLETION_INDEX={index}", f"PATH={SONDE.parent}:/usr/bin:/bin"]
        command = ["env", "-i", *environment, *shell, pip + script]
        if index == 3:
            slurm.run_on_node(["sh", "-c", 'timeout -s KILL 0.02 "$@"; true', "sh", *command])
        slurm.run_on_node(command)
    parts = {path: path.stat().st_mtime_ns for path in (shared / "parts").iterdir()}
    page = (ROOT / "docs/cluster.md").read_text()
    (reduce,) = set(re.findall(r"Then `(sonde cluster reduce [^`]*)`", page))
    slurm.run_on_node(["sh", "-c", reduce.replace("sonde", str(SONDE), 1)])
    assert results(shared / "out") == results(shared / "one")
    assert parts == {path: path.stat().st_mtime_ns for path in (shared / "parts").iterdir()}
