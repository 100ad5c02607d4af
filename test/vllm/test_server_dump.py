"""Dumps of a server, through the plug-in alone: no `sonde run`. One server dumps whatever is asked
for at its control address."""

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sonde._inject import _dump_control
from vllm_server import Server, ServerError
from watched import IS_THOROUGH, metrics, until

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "def main():\n    import os\n"
MODULES = 51  # of the model

# A plug-in of vLLM: the model fails where a file asks for it.
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


def settings(folder, **more):
    return {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump"), **more}


def start(python, model, folder, config, environment, options=(), ranks=1):
    additional = ["--additional-config", json.dumps({"dump_config": config})]
    options = [*additional, "--no-enable-prefix-caching", *options]
    return Server(python, model, folder / "log", (), ranks, options, environment, "path")


@pytest.fixture(scope="module", name="server")
def serve(vllm_python, model, installed, tmp_path_factory):
    """With few blocks for its cache, and a plug-in beside ours by which its model may fail."""
    folder = tmp_path_factory.mktemp("dumped")
    site = Path(installed["PYTHONPATH"].split(":")[1])
    (site / "failing.py").write_text(FAILING)
    with next(site.glob("*.dist-info/entry_points.txt")).open("a") as file:
        file.write("failing = failing:register\n")
    variables = {**installed, "FAIL_FILE": str(folder / "fail"),
                 "SONDE_CONTROL": f"unix:{folder / 'control'}"}  # fmt: skip
    few_blocks = ["--max-model-len", 128, "--block-size", 32, "--num-gpu-blocks-override", 6]
    config = settings(folder)
    with start(vllm_python, model, folder, config, variables, few_blocks) as server:
        server.folder, server.control = folder, variables["SONDE_CONTROL"]
        server.text = server.ask(PROMPT, 3)
        server.steps = 3  # that were not asked for
        yield server


def read(folder, name="dump.json"):
    return json.loads((folder / name).read_text())


def order(server, **what):
    return _dump_control._post(server.control, json.dumps(what))


def new_steps(server):
    """Names of the steps that were dumped since the last call: none is missing."""
    found = {int(path.name[len("step") :]) for path in (server.folder / "dump").iterdir()}
    new = sorted(step for step in found if step >= server.steps)
    assert new == list(range(server.steps, server.steps + len(new)))
    server.steps += len(new)
    return [server.folder / "dump" / f"step{step}" / "rank0" for step in new]


# The table of positions, which is as long as the longest request may be.
POSITIONS = "/Torch.index_select.0.forward/input_args[0]/shape[0]"


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
    elif ours != theirs and not path.endswith(
        (POSITIONS, "/Max", "/Min", "/Mean", "/Norm", "/value")
    ):
        yield f"{path}: {ours!r} and {theirs!r}"


def test_what_the_reference_recorded(server):
    """The same request, recorded by the reference: same entries, order, records, places."""
    data = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    golden = data / "vllm_cpu" / "msprobe_mix"
    if not golden.is_dir():
        pytest.skip(f"needs data: there is none at {golden} (SONDE_SHARED_DATA)")
    assert not (server.folder / "dump").exists()
    assert order(server, next=1) == 200
    assert server.ask(PROMPT, 4).startswith(server.text)
    steps = new_steps(server)
    assert len(steps) == 4
    for ours, name in zip(steps, ("step0", "step1")):
        theirs = golden / name / "rank0"
        left, right = read(ours)["data"], read(theirs)["data"]
        assert list(left) == list(right)
        assert list(differences(left, right)) == []
        assert read(ours, "construct.json") == read(theirs, "construct.json")
        groups = [group[0] for group in read(theirs, "stack.json").values()]
        stacks = read(ours, "stack.json")
        assert [group[0] for group in stacks.values()] == groups
        assert "sonde/vllm" not in str(stacks)


def test_steps_on_demand(server):
    """9 tokens of prompt and one more are two steps; two more are left out."""
    assert order(server, what=1) == 400
    assert order(server, next=1, tokens=10) == 200
    server.ask(PROMPT, 4)
    assert len(new_steps(server)) == 2
    server.steps += 2


def number(server, name):
    return metrics(server).get(f"vllm:{name}", 0)


def is_idle(server):
    return not number(server, "num_requests_running") + number(server, "num_requests_waiting")


def modules(folder, name):
    content = read(folder, name)
    return [entry for entry in content.get("data", content) if entry.startswith("Module.")]


def test_every_way_a_request_ends(server):
    """Each step is whole; none is missing, and none is made for what is no step."""
    assert order(server, next=1000) == 200
    whole = []

    def count():
        steps = new_steps(server)
        whole.extend(steps)
        return len(steps)

    text = server.ask(PROMPT, 30)
    assert count() == 30
    cut = server.ask(PROMPT, 30, stop=[text[8:12]])
    assert len(cut) <= 8 and 0 < count() < 30
    body = {"model": "tiny", "prompt": "x", "max_tokens": 110, "ignore_eos": True}
    server.abandon("/v1/completions", {**body, "stream": True}, 3)
    until(lambda: is_idle(server), server)
    assert 3 <= count() < 110
    assert server.call("/v1/completions", {**body, "max_tokens": 1000})[0] == 400
    assert count() == 0
    for _ in range(5):
        with ThreadPoolExecutor(2) as pool:
            assert all(pool.map(lambda prompt: server.ask(prompt, 100), ("x", "y")))
        # On a loaded machine one may have ended before both need much room.
        if number(server, "num_preemptions_total") > 0:
            break
    assert number(server, "num_preemptions_total") > 0
    assert count() > 100
    (server.folder / "fail").touch()
    assert server.call("/v1/completions", {**body, "max_tokens": 2})[0] == 500
    assert count() == 1
    assert "the dump of this server ends here" not in server.log.read_text()
    for step in whole:
        expected = MODULES if step != whole[-1] else MODULES - 1  # it failed before the logits
        for name in ("dump.json", "construct.json"):
            assert len(modules(step, name)) == expected, (step, name)
        assert read(step, "stack.json")
        assert not (step / "dump_error_info.log").exists()


def test_bad_configuration_is_refused_at_start(vllm_python, model, installed, tmp_path):
    with pytest.raises(ServerError, match="it should be one of"):
        with start(vllm_python, model, tmp_path, settings(tmp_path, level="L9"), installed):
            pass
    assert not (tmp_path / "dump").exists()


@pytest.mark.skipif(not IS_THOROUGH, reason="with SONDE_THOROUGH=1: test_changes has the line")
def test_compiled_model_is_reported(vllm_python, model, installed, tmp_path):
    """At a level that only calls of functions make."""
    options = ["--no-enforce-eager"]
    config = settings(tmp_path, level="L1")
    with start(vllm_python, model, tmp_path, config, installed, options) as server:
        server.ask(PROMPT, 1)
        assert "start the server with --enforce-eager" in server.log.read_text()
    (step,) = (tmp_path / "dump").iterdir()
    assert read(step / "rank0")["data"]


# By default what lies in memory between kernels; of each layer that is what the products give.
WAYS = {"eager": ("--enforce-eager", {}), "complete": ("--no-enforce-eager", {"graph": "complete"}),
        "boundaries": ("--no-enforce-eager", {})}  # fmt: skip
PARTS = (
    "self_attn.qkv_proj",
    "self_attn.o_proj",
    "mlp.gate_up_proj",
    "mlp.act_fn",
    "mlp.down_proj",
)


@pytest.mark.skipif(not IS_THOROUGH, reason="with SONDE_THOROUGH=1: the model is compiled")
@pytest.mark.parametrize("ranks", [1, 2])
def test_compiled_model_is_dumped_by_its_graph(vllm_python, model, installed, tmp_path, ranks):
    outputs = {}
    for name, (option, more) in WAYS.items():
        (tmp_path / name).mkdir()
        config = settings(tmp_path / name, level="L0", **more)
        options = [option, "--dtype", "float32"]
        with start(
            vllm_python, model, tmp_path / name, config, installed, options, ranks
        ) as server:
            server.ask(PROMPT, 1)
        for rank in range(ranks):
            data = read(tmp_path / name / "dump" / "step0" / f"rank{rank}")["data"]
            outputs[name, rank] = {key: entry["output"] for key, entry in data.items()}
    for rank in range(ranks):
        eager = outputs["eager", rank]
        assert len(eager) == MODULES and set(outputs["complete", rank]) == set(eager)
        found = set(outputs["boundaries", rank])
        missing = [f"{layer}.{part}" for layer in range(4) for part in PARTS
                   if not any(f".layers.{layer}.{part}." in name for name in found)]  # fmt: skip
        assert found <= set(eager), sorted(found - set(eager))
        assert not missing, missing
        for name in ("complete", "boundaries"):
            check_norms(outputs[name, rank], eager)


def check_norms(outputs, eager):
    for key, records in outputs.items():
        for record, other in zip(records, eager[key], strict=True):
            if other is not None and record is not None:
                assert math.isclose(record["Norm"], other["Norm"], rel_tol=1e-5), key
