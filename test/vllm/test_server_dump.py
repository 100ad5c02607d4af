"""Dumps of a server, through the plug-in alone: no `sonde run`, no variable of ours."""

import json
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sonde._inject import _dump_control
from vllm_server import Server, ServerError

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "def main():\n    import os\n"


@pytest.fixture(name="dumped")
def make_server(vllm_python, model, installed, tmp_path):
    """dumped(config, ...) is a server with this ``dump_config``."""

    def make(config, options=(), ranks=1, environment=None, key="dump_config"):
        additional = ["--additional-config", json.dumps({key: config})]
        return Server(vllm_python, model, tmp_path / "log", ranks=ranks,
                      options=[*additional, "--no-enable-prefix-caching", *options],
                      environment={**installed, **(environment or {})})  # fmt: skip

    return make


def read(folder, name="dump.json"):
    return json.loads((folder / name).read_text())


def settings(tmp_path, **more):
    return {"task": "statistics", "level": "mix", "dump_path": str(tmp_path / "dump"), **more}


def differences(ours, theirs, path=""):
    """Places where two dumps differ. The tokenizers were learned from different files: numbers
    that depend on the tokens are left out, those of parameters are compared."""
    if isinstance(theirs, dict):
        if list(ours) != list(theirs):
            yield f"{path}: {list(ours)} and {list(theirs)}"
            return
        for key in theirs:
            yield from differences(ours[key], theirs[key], f"{path}/{key}")
    elif isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} and {len(theirs)}"
            return
        for index, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}[{index}]")
    elif type(ours) is not type(theirs):
        yield f"{path}: {ours!r} and {theirs!r}"
    elif "/parameters/" in path and isinstance(theirs, float):
        if not math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-9):
            yield f"{path}: {ours} and {theirs}"
    elif ours != theirs and not path.endswith(("/Max", "/Min", "/Mean", "/Norm", "/value")):
        yield f"{path}: {ours!r} and {theirs!r}"


def test_what_the_reference_recorded(dumped, tmp_path):
    """The same request, recorded by the reference: same entries, order, records, places."""
    data = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    golden = data / "vllm_cpu" / "msprobe_mix"
    if not golden.is_dir():
        pytest.skip(f"needs data: there is none at {golden} (SONDE_SHARED_DATA)")
    with dumped(settings(tmp_path)) as server:
        server.ask(PROMPT, 4)
    steps = sorted((tmp_path / "dump").iterdir())
    assert [step.name for step in steps] == ["step0", "step1", "step2", "step3"]
    for step in ("step0", "step1"):
        ours, theirs = tmp_path / "dump" / step / "rank0", golden / step / "rank0"
        left, right = read(ours)["data"], read(theirs)["data"]
        assert list(left) == list(right)
        assert list(differences(left, right)) == []
        assert read(ours, "construct.json") == read(theirs, "construct.json")
        groups = [group[0] for group in read(theirs, "stack.json").values()]
        stacks = read(ours, "stack.json")
        assert [group[0] for group in stacks.values()] == groups
        assert "sonde/vllm" not in str(stacks)


def test_two_ranks_and_a_file(dumped, tmp_path):
    path = tmp_path / "dump config.json"
    path.write_text(json.dumps(settings(tmp_path, level="L0", step=[1], weights=True)))
    with dumped(str(path), ranks=2, key="dump_config_path") as server:
        server.ask(PROMPT, 3)
    step, weights = sorted((tmp_path / "dump").iterdir())
    assert (step.name, weights.name) == ("step1", "weights")
    name = "Module.model.layers.0.mlp.down_proj.RowParallelLinear.forward.0"
    shapes = [read(folder / "rank1")["data"][name]["parameters"]["weight"]["shape"]
              for folder in (step, weights)]  # fmt: skip
    assert shapes == [[0], [256, 352]], "packed in the step, and before that"
    names = [list(read(step / rank)["data"]) for rank in ("rank0", "rank1")]
    assert names[0] == names[1] and len(names[0]) == 51


def test_requests_on_demand(dumped, tmp_path):
    """A server with a control address dumps what POST /dump asks for, on both ranks."""
    control = tmp_path / "control"
    environment = {"SONDE_CONTROL": f"unix:{control}"}
    with dumped(settings(tmp_path, level="L0"), ranks=2, environment=environment) as server:
        text = server.ask(PROMPT, 3)
        assert not (tmp_path / "dump").exists()
        assert _dump_control._post(f"unix:{control}", '{"what": 1}') == 400
        assert _dump_control._post(f"unix:{control}", '{"next": 1, "tokens": 10}') == 200
        assert server.ask(PROMPT, 4) == text + server.ask(PROMPT, 4)[len(text) :]
    # Steps 0 to 2 were not asked for; 9 tokens of prompt and one more are two steps.
    steps = sorted(path.name for path in (tmp_path / "dump").iterdir())
    assert steps == ["step3", "step4"]
    for step in steps:
        for rank in ("rank0", "rank1"):
            assert len(read(tmp_path / "dump" / step / rank)["data"]) == 51


# A plug-in of vLLM: the model fails where a file says so.
FAILING = """
import os

def register():
    from vllm.model_executor.models.qwen2 import Qwen2ForCausalLM
    compute_logits = Qwen2ForCausalLM.compute_logits

    def failing(self, *args, **kwargs):
        if os.path.exists(os.environ["FAIL_FILE"]):
            raise RuntimeError("as the test wants it")
        return compute_logits(self, *args, **kwargs)

    Qwen2ForCausalLM.compute_logits = failing
"""


@pytest.fixture(name="may_fail")
def make_failing(installed):
    """Environment of a server whose model fails as soon as there is a file ``FAIL_FILE``."""
    site = Path(installed["PYTHONPATH"].split(":")[1])
    (site / "failing.py").write_text(FAILING)
    with next(site.glob("*.dist-info/entry_points.txt")).open("a") as file:
        file.write("failing = failing:register\n")
    return {"FAIL_FILE": str(site / "fail")}


def number(server, name):
    """Sum of a metric of vLLM."""
    lines = server.call("/metrics")[1].splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"vllm:{name}{{"))


def await_idle(server):
    end = time.monotonic() + 60
    while number(server, "num_requests_running") + number(server, "num_requests_waiting"):
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.1)


def test_every_way_a_request_ends(dumped, may_fail, tmp_path):
    """Each step is whole; none is missing, and none is made for what is no step."""
    dump, steps = tmp_path / "dump", []

    def new_steps():
        found = {int(path.name[len("step") :]) for path in dump.iterdir()}
        new = sorted(found - set(steps))
        assert new == list(range(len(steps), len(found)))
        steps.extend(new)
        return len(new)

    few_blocks = ["--max-model-len", 128, "--block-size", 32, "--num-gpu-blocks-override", 6]
    with dumped(settings(tmp_path, level="L0"), few_blocks, environment=may_fail) as server:
        text = server.ask(PROMPT, 30)
        assert new_steps() == 30
        cut = server.ask(PROMPT, 30, stop=[text[8:12]])
        assert len(cut) <= 8 and 0 < new_steps() < 30
        body = {"model": "tiny", "prompt": "x", "max_tokens": 110, "ignore_eos": True}
        server.abandon("/v1/completions", {**body, "stream": True}, 3)
        await_idle(server)
        assert 3 <= new_steps() < 110
        assert server.call("/v1/completions", {**body, "max_tokens": 1000})[0] == 400
        assert new_steps() == 0
        for _ in range(5):
            with ThreadPoolExecutor(2) as pool:
                assert all(pool.map(lambda prompt: server.ask(prompt, 100), ("x", "y")))
            # On a loaded machine one may have ended before both need much room.
            if number(server, "num_preemptions_total") > 0:
                break
        assert number(server, "num_preemptions_total") > 0
        assert new_steps() > 100
        Path(may_fail["FAIL_FILE"]).touch()
        assert server.call("/v1/completions", {**body, "max_tokens": 2})[0] == 500
        assert new_steps() == 1
        assert "nothing more of this server is dumped" not in server.log.read_text()
    for step in steps:
        folder = dump / f"step{step}" / "rank0"
        expected = 51 if step < steps[-1] else 50  # it failed before the logits
        for name in ("dump.json", "construct.json"):
            content = read(folder, name)
            assert len(content.get("data", content)) == expected, (folder, name)
        assert read(folder, "stack.json")
        assert not (folder / "dump_error_info.log").exists()


def test_bad_configuration_is_refused_at_start(dumped, tmp_path):
    with pytest.raises(ServerError, match="it should be one of"):
        with dumped(settings(tmp_path, level="L9")):
            pass
    assert not (tmp_path / "dump").exists()


def test_compiled_model_is_said(dumped, tmp_path):
    options = ["--no-enforce-eager"]
    with dumped(settings(tmp_path), options=options) as server:
        server.ask(PROMPT, 1)
        assert "start the server with --enforce-eager" in server.log.read_text()
    (step,) = (tmp_path / "dump").iterdir()
    assert read(step / "rank0")["data"]
