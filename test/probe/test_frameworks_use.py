"""Every way in which public frameworks hold the debugger, driven as they do it.

Found in the sources and guides of verl (test_frameworks.py), slime, MindSpeed, MindSpeed-RL,
MindSpeed-LLM, ms-swift, SGLang, vllm-ascend, RL frameworks that make a new debugger for each
stage, and programs on TorchTitan.
"""

import json

import pytest

MODEL = """
import os, torch
from torch import nn
from msprobe.pytorch import PrecisionDebugger, seed_all
torch.manual_seed(0)
def make():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
model, x = make(), torch.ones(2, 3)
"""


def dumps_of(folder):
    """{(folder below dump, step): names of the entries}."""
    found = {}
    for path in (folder / "dump").rglob("dump.json"):
        place = path.relative_to(folder / "dump").parts
        found["/".join(place[:-2])] = list(json.loads(path.read_text())["data"])
    return found


def test_slime_gives_each_phase_a_folder_and_ends_it_with_a_step(run_program, tmp_path):
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger(config_path="config.json")
prefix = debugger.service.config.dump_path
parts = [model]
for rollout in range(2):
    for phase in ("old_log_prob", "train"):
        debugger.service.config.dump_path = os.path.join(prefix, phase)
        debugger.start(model=parts)
        out = model(x).sum()
        if phase == "train":
            out.backward()
        debugger.stop()
        debugger.step()
""",
        level="mix",
    )
    found = dumps_of(tmp_path)
    # A step() counts whatever folder it ends in, as with the reference.
    assert set(found) == {"old_log_prob/step0", "train/step1", "old_log_prob/step2", "train/step3"}
    for place, names in found.items():
        assert "Module.0.0.Linear.forward.0" in names or "Module.0.Linear.forward.0" in names
        assert any("backward" in name for name in names) == place.startswith("train")


def test_mindspeed_rl_sets_first_start_for_each_model(run_program, tmp_path):
    run_program(
        MODEL
        + """
class MsProbe:
    debugger, hooked_model, dump_path = None, [], "dump"
    @classmethod
    def debugger_start(cls, model, tag):
        cls.debugger.service.first_start = model not in cls.hooked_model
        cls.debugger.service.config.dump_path = os.path.join(cls.dump_path, tag)
        cls.debugger.start(model=model)
        if not cls.debugger.service.first_start and model not in cls.hooked_model:
            cls.hooked_model.append(model)
    @classmethod
    def debugger_stop(cls):
        cls.debugger.stop()
        cls.debugger.service.reset_status()
MsProbe.debugger = PrecisionDebugger(config_path="config.json")
roles = {"actor_update": model, "reference_compute_log_prob": make()}
for iteration in range(2):
    for tag, module in roles.items():
        MsProbe.debugger_start(module, tag)
        out = module(x).sum()
        if tag == "actor_update":
            out.backward()
        MsProbe.debugger_stop()
    MsProbe.debugger.step()
assert [module for module in MsProbe.hooked_model] == list(roles.values())
""",
        level="mix",
    )
    found = dumps_of(tmp_path)
    tags = ("actor_update", "reference_compute_log_prob")
    assert set(found) == {f"{tag}/step{step}" for tag in tags for step in range(2)}
    for place, names in found.items():
        modules = [name for name in names if name.startswith("Module.") and "forward" in name]
        assert len(modules) == 3, (place, names)
        assert any("backward" in name for name in names) == place.startswith("actor")


def test_a_new_debugger_for_each_stage(run_program, tmp_path):
    run_program(
        MODEL
        + """
for step in (1, 2):
    for stage in ("compute", "update"):
        path = os.path.join("dump", str(step), stage)
        os.makedirs(path, exist_ok=True)
        PrecisionDebugger._instance = None
        PrecisionDebugger(config_path="config.json", dump_path=path)
        PrecisionDebugger.start(model=model)
        out = model(x).sum()
        if stage == "update":
            out.backward()
        PrecisionDebugger.step()
        PrecisionDebugger.stop()
""",
        level="mix",
    )
    found = dumps_of(tmp_path)
    assert set(found) == {f"{n}/{stage}/step0" for n in (1, 2) for stage in ("compute", "update")}
    for place, names in found.items():
        forward = sorted(name for name in names if "forward" in name and ".sum." not in name)
        assert forward == [
            "Functional.linear.0.forward", "Functional.linear.1.forward",
            "Functional.relu.0.forward", "Module.0.Linear.forward.0", "Module.1.ReLU.forward.0",
            "Module.2.Linear.forward.0",
        ], place  # fmt: skip
        assert any("backward" in name for name in names) == ("update" in place)


@pytest.mark.parametrize("level", ["L1", "mix"])
def test_servers_ask_for_the_level_and_give_the_rank(run_program, tmp_path, level):
    """vllm-ascend gives the file by position and a folder for each process; SGLang the rank."""
    run_program(
        MODEL
        + """
seed_all(mode=True)
debugger = PrecisionDebugger("config.json")
debugger.service.config.dump_path = os.path.join(debugger.config.dump_path, "process")
assert debugger.config.dump_path == debugger.service.config.dump_path
wanted = str(getattr(debugger.config, "level", "L1")).upper()
assert wanted in ("L1", "MIX")
for _ in range(2):
    with torch.no_grad():
        if wanted in ("L0", "MIX"):
            debugger.start(model=model, rank_id=3)
        else:
            debugger.start(rank_id=3)
        model(x)
        debugger.stop()
        debugger.step()
""",
        level=level,
    )
    found = dumps_of(tmp_path)
    assert set(found) == {"process/step0", "process/step1"}
    assert (tmp_path / "dump" / "process" / "step0" / "rank3" / "dump.json").is_file()
    assert any(name.startswith("Module.") for name in found["process/step0"]) == (level == "mix")


def test_rollout_of_one_token_and_the_older_name_of_reset(run_program, tmp_path):
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger(config_path="config.json")
debugger.service.config.dump_path = os.path.join("dump", "generate_sequences")
debugger.start(model=model, token_range=[0, 0])
with torch.no_grad():
    for _ in range(3):
        model(x)
debugger.stop()
debugger.service._reset_status()
assert debugger.service.current_iter == 0
""",
        level="mix",
    )
    (names,) = dumps_of(tmp_path).values()
    assert [name for name in names if name.startswith("Module.0.")] == ["Module.0.Linear.forward.0"]


def test_the_model_given_to_the_constructor(run_program, tmp_path):
    """As releases before 26 took it; guides of ms-swift and MindSpeed do so at each step."""
    run_program(
        MODEL
        + """
chunks = [make()]
optimizer = torch.optim.SGD(chunks[0].parameters(), 0.1)
def train_step(model):
    from msprobe.pytorch import PrecisionDebugger
    debugger = PrecisionDebugger(dump_path="./dump", level="mix", model=model)
    debugger.start()
    try:
        model[0](x).sum().backward()
        optimizer.step()
    finally:
        debugger.stop()
        debugger.step()
for _ in range(3):
    train_step(chunks)
""",
    )
    found = dumps_of(tmp_path)
    assert set(found) == {f"step{number}" for number in range(3)}
    for names in found.values():
        modules = [name for name in names if name.startswith("Module.")]
        assert len(modules) == 3 + 3 + 2, modules  # forward, backward, gradients of two layers


def test_a_debugger_without_a_file(run_program, tmp_path):
    """Recipes for verl and slime give task, level and steps; the second model of a worker none."""
    run_program(
        MODEL
        + """
seed_all(mode=True)
debugger = PrecisionDebugger(task="tensor", level="L0", step=[0], dump_path="dump")
for _ in range(2):
    debugger.start(model)
    with torch.no_grad():
        model(x)
    debugger.stop()
    if hasattr(debugger, "step"):
        debugger.step()
""",
    )
    found = dumps_of(tmp_path)
    assert list(found) == ["step0"]
    files = sorted(path.name for path in (tmp_path / "dump").rglob("*.pt"))
    assert "Module.0.Linear.forward.0.input.0.pt" in files and len(files) == 6 + 4


def test_arguments_that_no_release_knew_are_refused_in_words(run_program):
    done = run_program(MODEL + 'PrecisionDebugger(dump_path="dump", modle=model)\n', good=False)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "takes no argument 'modle'" in last, done.stderr


def test_mindspeed_wraps_the_step_and_its_end(run_program, tmp_path):
    """Models are a list, a step is counted where the trainer ends its iteration."""
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger(config_path=os.path.join(os.getcwd(), "config.json"))
def train_step(forward, data, model, optimizer):
    debugger.start(model=model)
    loss = forward(data, model)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
def on_training_step_end():
    debugger.stop()
    debugger.step()
chunks = [model, make()]
optimizer = torch.optim.SGD([weight for part in chunks for weight in part.parameters()], 0.1)
for iteration in range(2):
    train_step(lambda data, parts: sum(part(data).sum() for part in parts), x, chunks, optimizer)
    on_training_step_end()
""",
        level="L0",
    )
    found = dumps_of(tmp_path)
    assert set(found) == {"step0", "step1"}
    for names in found.values():
        for chunk in (0, 1):
            assert f"Module.{chunk}.2.Linear.forward.0" in names
            assert f"Module.{chunk}.0.Linear.parameters_grad.0" in names
