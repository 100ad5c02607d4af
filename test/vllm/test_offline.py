"""`LLM(...)` in a program and `vllm bench` under `sonde run`, without a word about profiling in
vLLM's own configuration."""

import csv
import os
import subprocess
from pathlib import Path

import pytest
from vllm_server import QUIET

SCRIPT = """
import sys
import torch
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    torch.ones(3).sum()
    llm = LLM(model=sys.argv[1], dtype="float32", max_model_len=512, enforce_eager=True, seed=0)
    sampling = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)
    llm.generate(["import "], sampling)
    llm.start_profile("mine")
    llm.generate(["def main():", "class A"], sampling)
    llm.stop_profile()
"""


@pytest.fixture(name="run")
def make_run(sonde, vllm_python, tmp_path):
    """run(words...) runs a program of vLLM's environment; returns its folder and what it said."""

    def run(*words):
        programs = Path(vllm_python).parent
        folder = tmp_path / "profile"
        command = [sonde, "run", "--profile-save-path", folder, "--profile-request-text", "--",
                   programs / words[0]]  # fmt: skip
        environment = {**os.environ, **QUIET, "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run([*map(str, command), *map(str, words[1:])], cwd=tmp_path,
                              env=environment, capture_output=True, text=True, timeout=600,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return folder, done.stderr

    return run


def summary(session):
    with (session / "serving_summary.csv").open(newline="") as file:
        return {(row["name"], row["statistic"]): float(row["value"])
                for row in csv.DictReader(file)}  # fmt: skip


def test_a_program_that_imports_torch_first(run, model, tmp_path, rows):
    """What runs before, then the engine's whole life until the program's own session, then that."""
    script = tmp_path / "offline.py"
    script.write_text(SCRIPT)
    folder, said = run("python", script, model)
    assert "the program starts a profiler itself" in said
    (before,) = [path for path in folder.glob("*_ascend_pt") if "rank0" not in path.name]
    sql = """SELECT count(*) AS n FROM framework_op JOIN slice USING (slice_id)
        WHERE name = 'aten::sum'"""
    assert rows(before, sql)[0]["n"] > 0
    (whole,), (mine,) = folder.glob("server_*_1"), folder.glob("mine_server_*_2")
    for session, requests in ((whole, 1), (mine, 2)):
        told = summary(session)
        assert told["whole requests", "sum"] == told["requests", "sum"] == requests
        assert told["output tokens", "sum"] == 6 * requests
        steps = "SELECT count(*) AS n FROM step t JOIN process p USING (process_id) WHERE p.rank={}"
        engine = rows(session, "SELECT count(*) AS n FROM engine_step")
        assert rows(session, steps.format(0)) == engine and engine[0]["n"] >= 6
    sql = """SELECT r.value AS name, t.key, t.value FROM args_text t JOIN args_text r
        USING (args_id) WHERE r.key = 'request' AND t.key IN ('prompt', 'answer')"""
    texts = rows(mine, sql)  # of the session before there are none
    prompts = sorted(row["value"] for row in texts if row["key"] == "prompt")
    assert prompts == ["class A", "def main():"]
    assert sorted(row["key"] for row in texts) == ["answer", "answer", "prompt", "prompt"]


def test_vllm_bench_latency(run, wide_model):
    """Warm-up, then batches of the same size one after the other."""
    folder, _ = run(
        "vllm", "bench", "latency", "--model", wide_model, "--dtype", "float32", "--max-model-len",
        "512", "--enforce-eager", "--input-len", "16", "--output-len", "8", "--batch-size", "2",
        "--num-iters-warmup", "1", "--num-iters", "2",
    )  # fmt: skip
    (session,) = folder.glob("server_*_1")
    told = summary(session)
    assert told["whole requests", "sum"] == told["requests", "sum"] == 2 * (1 + 2)
    assert told["output tokens", "sum"] == 6 * 8


def test_vllm_bench_throughput(run, model):
    folder, _ = run(
        "vllm", "bench", "throughput", "--model", model, "--dtype", "float32", "--max-model-len",
        "512", "--enforce-eager", "--dataset-name", "random", "--random-input-len", "16",
        "--random-output-len", "8", "--num-prompts", "5",
    )  # fmt: skip
    (session,) = folder.glob("server_*_1")
    told = summary(session)
    assert told["whole requests", "sum"] == 5
    assert told["output tokens", "sum"] == 5 * 8
    (rank,) = folder.glob("rank0_*_ascend_pt")
    assert (rank / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()
