"""Programs of vLLM without a server: `LLM(...)` and `vllm bench` under `sonde run`, without a word
about profiling in vLLM's own configuration; and vLLM's own profiler, where ours is broken."""

import csv
import gzip
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from one_rank.operators import DRAWN, PROMPT, TOKENS
from own_time import check_conservation
from vllm_server import QUIET
from watched import IS_THOROUGH, await_line

ALONE = """
import json, sys
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    profiler = {"profiler": "torch", "torch_profiler_dir": sys.argv[2],
                "torch_profiler_with_stack": False}
    llm = LLM(model=sys.argv[1], dtype="float32", max_model_len=512, enforce_eager=True, seed=0,
              profiler_config=profiler)
    prompt, drawn = json.loads(sys.argv[3]), json.loads(sys.argv[4])
    def ask(tokens, **options):
        sampling = SamplingParams(max_tokens=tokens, ignore_eos=True, **options)
        return llm.generate([prompt], sampling)[0].outputs[0].text
    ask(8, temperature=0)
    llm.start_profile()
    texts = [ask(8, temperature=0)]
    llm.stop_profile()
    print("texts", json.dumps([*texts, ask(32, **drawn)]))
"""


def environment_of(python, **more):
    return {**os.environ, **QUIET, "PATH": f"{Path(python).parent}:{os.environ['PATH']}", **more}


def run(words, folder, environment):
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def printed(done, name):
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(name + " ")]
    return json.loads(line[len(name) :])


@pytest.fixture(scope="module", name="alone")
def run_alone(vllm_python, model, installed, tmp_path_factory):
    """Texts and operators of one request as vLLM's own profiler sees it. Our package is installed
    and asked for, and its adapter broken."""
    folder = tmp_path_factory.mktemp("alone")
    libraries = folder / "home" / "lib"
    libraries.mkdir(parents=True)
    (libraries / "libsonde_torch.so").write_text("no library")
    (folder / "alone.py").write_text(ALONE)
    words = [vllm_python, "alone.py", model, folder, json.dumps(PROMPT), json.dumps(DRAWN)]
    variables = {**installed, "SONDE": "1", "SONDE_HOME": str(libraries.parent)}
    done = run(words, folder, environment_of(vllm_python, **variables))
    (trace,) = folder.glob("*rank0*.pt.trace.json.gz")
    with gzip.open(trace, "rt") as file:
        events = json.load(file)["traceEvents"]
    operators = Counter(e["name"] for e in events if e.get("cat") == "cpu_op")
    text, drawn = printed(done, "texts")
    messages = [line for line in (done.stdout + done.stderr).splitlines() if "sonde: " in line]
    return SimpleNamespace(text=text, drawn=drawn, operators=operators, messages=messages)


def test_an_adapter_that_is_not_there(alone):
    """The program has vLLM's own profiler, and a line in each process names what is missing."""
    assert len(alone.operators) > 10
    assert alone.messages and all("this process is not recorded" in line for line in alone.messages)


OFFLINE = """
import json, sys
import torch
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    torch.ones(3).sum()
    llm = LLM(model=sys.argv[1], dtype="float32", max_model_len=512, seed=0)
    def ask(*prompts):
        sampling = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
        return [answer.outputs[0].text for answer in llm.generate(prompts, sampling)]
    texts = ask(json.loads(sys.argv[2]))
    for _ in range(2):
        llm.start_profile("mine")
        ask("def main():", "class A")
        llm.stop_profile()
    print("texts", json.dumps(texts))
"""


def summary(session):
    with (session / "serving_summary.csv").open(newline="") as file:
        return {(row["name"], row["statistic"]): float(row["value"])
                for row in csv.DictReader(file)}  # fmt: skip


@pytest.fixture(scope="module", name="offline")
def run_offline(sonde, vllm_python, model, server, tmp_path_factory):
    """A module that imports torch first, compiles its model, and has sessions of its own beside its
    whole life. It records into the folder of the server, while that has a session."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "offline.py").write_text(OFFLINE)
    words = [sonde, "run", "--profile-save-path", server.profiles, "--profile-request-text", "--",
             vllm_python, "-m", "offline", model, json.dumps(PROMPT)]  # fmt: skip
    variables = {"VLLM_CACHE_ROOT": str(folder / "cache")}
    before = set(server.profiles.iterdir())
    assert server.profile("start")[0] == 200
    server.ask("import ", TOKENS)
    done = run(words, folder, environment_of(vllm_python, **variables))
    server.ask("import ", TOKENS)
    assert server.profile("stop")[0] == 200
    reported = json.loads(server.call("/profile_status")[1])["sessions"][-1]
    await_line(server, f"served: {reported['folder']}")
    ours = {Path(reported["folder"]), *(Path(rank["folder"]) for rank in reported["ranks"])}
    new = set(server.profiles.iterdir()) - before - ours
    return SimpleNamespace(
        done=done, of_server=Path(reported["folder"]),
        sessions=in_order(new, "server_", -1), ranks=in_order(new, "rank0_", -3),
        others=[path for path in new if path.name.endswith("_ascend_pt")
                and "server_" not in path.name and "rank0_" not in path.name],
    )  # fmt: skip


def in_order(paths, part, place):
    """Those whose names have the part, by the number or moment at that place of their names."""
    found = [path for path in paths if part in path.name and path.is_dir()]
    return sorted(found, key=lambda path: int(path.name.split("_")[place]))


def count(rows, path, what):
    return rows(path, f"SELECT count(*) AS n FROM {what}")[0]["n"]


def test_a_program_with_sessions_of_its_own(offline, alone, rows):
    """What runs before, then the engine's whole life until the program's first session, then
    those."""
    assert printed(offline.done, "texts") == [alone.text]
    messages = offline.done.stderr
    assert "the program starts a profiler itself" in messages and "not recorded" not in messages, (
        messages
    )
    (before,) = offline.others
    assert count(rows, before, "framework_op JOIN slice USING (slice_id) "
                               "WHERE name = 'aten::sum'") > 0  # fmt: skip
    whole, *mine = offline.sessions
    assert [path.name.startswith("mine_") for path in offline.sessions] == [False, True, True]
    for session, rank, requests in zip(offline.sessions, offline.ranks, (1, 2, 2), strict=True):
        reported = summary(session)
        assert reported["whole requests", "sum"] == reported["requests", "sum"] == requests
        assert reported["output tokens", "sum"] == TOKENS * requests
        steps = "step t JOIN process p USING (process_id) WHERE p.rank = 0 AND t.dur >= 0"
        # A request may have begun before the engine knew of the one behind it.
        count_of_engine = count(rows, session, "engine_step")
        assert TOKENS <= count_of_engine <= requests * TOKENS
        assert count(rows, session, steps) == count_of_engine
        assert count(rows, rank, "step WHERE dur >= 0") == count_of_engine
        assert (rank / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()
    assert count(rows, whole, "request WHERE queued_ts > 0") == 1
    sql = """SELECT r.value AS name, t.key, t.value FROM args_text t JOIN args_text r
        USING (args_id) WHERE r.key = 'request' AND t.key IN ('prompt', 'answer')"""
    for session in mine:  # of the sessions before there are none
        texts = rows(session, sql)
        prompts = sorted(row["value"] for row in texts if row["key"] == "prompt")
        assert prompts == ["class A", "def main():"]
        assert sorted(row["key"] for row in texts) == ["answer", "answer", "prompt", "prompt"]


def test_a_server_and_a_program_record_into_one_folder(offline, rows):
    found = rows(offline.of_server, "SELECT output_tokens, is_whole FROM request")
    assert found == 2 * [{"output_tokens": TOKENS, "is_whole": 1}]
    for session in (offline.of_server, *offline.sessions):
        assert count(rows, session, "process WHERE rank = 0") == 1


def test_compiled_regions_are_named(offline, rows):
    assert offline.done.stderr.count("the model runs compiled") == 1
    for session, span in zip(offline.sessions[1:], offline.ranks[1:], strict=True):
        region = "## Call CompiledFxGraph%"
        steps = count(rows, session, "engine_step")
        assert count(rows, span, f"slice WHERE name LIKE '{region}'") == steps
        inside = rows(span, "SELECT o.name, count(*) AS n FROM slice o JOIN slice r ON o.ts >= "
                            "r.ts AND o.ts + o.dur <= r.ts + r.dur AND o.slice_id <> r.slice_id "
                            f"WHERE r.name LIKE '{region}' GROUP BY o.name")  # fmt: skip
        calls = {row["name"]: row["n"] for row in inside}
        for name in ("vllm::unified_kv_cache_update", "vllm::unified_attention_with_output"):
            assert calls[name] == 4 * steps, calls  # a layer each
        kernels = [name for name in calls if name.startswith("cpp_fused_")]
        assert kernels and all(calls[name] % steps == 0 for name in kernels), calls
        unknown = "compiled_kernel WHERE path IS NULL OR module_class IS NULL"
        assert count(rows, span, unknown) == 0
        for layer in range(4):
            assert calls[f"model.layers.{layer}.mlp.gate_up_proj"] == steps, calls
        check_conservation(lambda sql, span=span: rows(span, sql))


def bench(sonde, python, folder, *words):
    """The folder of the only session of `vllm bench`, whose engine is in its own process."""
    command = [sonde, "run", "--profile-save-path", folder / "profile", "--",
               Path(python).parent / "vllm", "bench", *words, "--dtype", "float32",
               "--max-model-len", "512", "--enforce-eager"]  # fmt: skip
    run(command, folder, environment_of(python, VLLM_ENABLE_V1_MULTIPROCESSING="0"))
    (session,) = (folder / "profile").glob("server_*_1")
    return session


def test_vllm_bench_latency(sonde, vllm_python, wide_model, tmp_path):
    """Warm-up, then batches of the same size one after the other."""
    session = bench(sonde, vllm_python, tmp_path, "latency", "--model", wide_model,
                    "--input-len", "16", "--output-len", "8", "--batch-size", "2",
                    "--num-iters-warmup", "1", "--num-iters", "2")  # fmt: skip
    reported = summary(session)
    assert reported["whole requests", "sum"] == reported["requests", "sum"] == 2 * (1 + 2)
    assert reported["output tokens", "sum"] == 6 * 8


@pytest.mark.skipif(not IS_THOROUGH, reason="with SONDE_THOROUGH=1: another bench is tested")
def test_vllm_bench_throughput(sonde, vllm_python, model, tmp_path):
    session = bench(sonde, vllm_python, tmp_path, "throughput", "--model", model,
                    "--dataset-name", "random", "--random-input-len", "16",
                    "--random-output-len", "8", "--num-prompts", "5")  # fmt: skip
    reported = summary(session)
    assert reported["whole requests", "sum"] == 5
    assert reported["output tokens", "sum"] == 5 * 8
    (rank,) = session.parent.glob("rank0_*_ascend_pt")
    assert (rank / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()


def test_a_model_that_cannot_be_loaded(sonde, vllm_python, tmp_path):
    """vLLM's messages come through, and its exit status."""
    command = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--",
               vllm_python.replace("/python", "/vllm"), "serve", tmp_path / "nothing"]  # fmt: skip
    environment = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode not in (0, 255), done.stderr
    messages = [line for line in done.stderr.splitlines() if line.startswith("sonde: ")]
    assert len(messages) == 2 and "/start_profile and /stop_profile are open to" in messages[0], (
        messages
    )
    assert "ended with an error before it answered a request" in messages[1], messages
