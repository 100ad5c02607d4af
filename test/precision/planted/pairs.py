"""Which faults are planted where, and the dumps of them.

``cases()`` lists the pairs; ``record(case, folder)`` writes one dump in a process of its own
(forked: torch is imported once). Run as a program it records what a case list on its standard input
names, one JSON object a line, and prints the cases it has recorded.
"""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

LEVELS = ("mix", "L0", "L1")
SUMMARIES = (("statistics", "statistics"), ("tensor", "statistics"), ("statistics", "md5"))

# Modules of every model that faults sit in.
PLACES = {
    "decoder": ("layers.0.up", "layers.1.attention.q", "layers.2.down"),
    "decoder_fused": ("layers.0.attention.o", "layers.1.up", "head"),
    "decoder_rms": ("layers.1.attention.v", "layers.2.up", "layers.0.down"),
    "decoder_deep": ("layers.3.attention.k", "layers.5.down", "layers.1.up"),
    "classifier": ("layers.0.attention.q", "layers.1.down", "head"),
    "perceptron": ("layers.1", "layers.3", "head"),
    "convnet": ("stem", "layers.1.0", "head"),
    "autoencoder": ("down.0", "down.1", "up"),
    "recurrent": ("layers.0", "layers.1", "head"),
    "experts": ("router", "layers.1", "head"),
    "towers": ("left.0", "right.2", "layers.0"),
    "entropy": ("layers.0", "layers.1", "head"),
}
NORMS = {
    "decoder": "layers.1.norm1",
    "decoder_fused": "layers.0.norm2",
    "decoder_rms": "layers.2.norm1",
    "decoder_deep": "norm",
    "classifier": "layers.1.norm2",
    "convnet": "layers.2.1",
    "autoencoder": "norm",
}
SKIPS = {
    "decoder": "layers.1",
    "decoder_fused": "layers.0",
    "decoder_rms": "layers.2",
    "decoder_deep": "layers.3",
    "classifier": "layers.1",
    "perceptron": "layers.2",
    "convnet": "layers.1",
    "autoencoder": "down.1",
    "recurrent": "layers.0",
    "experts": "layers.2",
    "towers": "layers.0",
    "entropy": "layers.0",
}
MASKED = ("decoder_fused", "decoder_rms", "decoder_deep")
EAGER = ("decoder", "decoder_rms", "classifier")
FUSED = ("decoder_fused", "decoder_deep")
REDUCED = ("classifier", "perceptron", "convnet", "experts")


def faults_of(model):
    first, second, third = PLACES[model]
    yield from (("weight", place) for place in (first, second, third))
    yield from (("scaled", second), ("input", None), ("dtype", third), ("skip", SKIPS[model]))
    yield from (("operator", first), ("operator", second), ("backward", second))
    yield from (("rounding", None), ("rounding", None), ("rounding", None), ("nothing", None))
    if model in NORMS:
        yield "zero", NORMS[model]
    if model in MASKED:
        yield from (("mask", None), ("mask", None))
    if model in EAGER:
        yield from (("scale", "layers.1.attention"), ("nan_head", "layers.1.attention"))
    if model in FUSED:
        yield from (("backend", None), ("backend", None), ("backend", None))
    if model in REDUCED:
        yield from (("reduction", ""), ("reduction", ""))
    if model == "entropy":
        yield from (("nan_head", ""), ("nan_head", ""))


def cases(fresh=False):
    """Levels, tasks and passes take turns, so that every fault meets several of them. ``fresh``:
    of models that the rules have never been tried on."""
    import fresh_models

    turn = 0
    models, faults = (PLACES, faults_of) if not fresh else (fresh_models.MODELS, None)
    for model in models:
        for kind, place in (faults or fresh_models.faults_of)(model):
            level = LEVELS[turn % 3]
            task, summary = SUMMARIES[(turn // 3) % 3]
            training = kind == "backward" or turn % 2 == 0
            turn += 1
            yield {
                "id": turn, "model": model, "kind": kind, "place": place, "level": level,
                "task": task, "summary": summary, "training": training,
                "ranks": 2 if model == "sharded" else 1,
            }  # fmt: skip


def held_out(seed, count=75):
    """Pairs that nobody has chosen: both sets of models with other weights and inputs, each fault
    at a place, level and mode by lot."""
    import random

    import fresh_models

    lot = random.Random(seed)
    known = list(cases()) + list(cases(fresh=True))
    kinds = sorted({case["kind"] for case in known})
    chosen = []
    while len(chosen) < count:
        kind = kinds[len(chosen) % len(kinds)]
        case = dict(lot.choice([case for case in known if case["kind"] == kind]))
        places = {**PLACES, **fresh_models.PLACES}.get(case["model"], ())
        if kind in ("weight", "scaled", "operator", "backward", "dtype") and places:
            case["place"] = lot.choice(places)
        task, summary = lot.choice(SUMMARIES)
        training = kind == "backward" or lot.random() < 0.5
        case.update(id=1000 + len(chosen), level=lot.choice(LEVELS), task=task, summary=summary,
                    training=training, seed=seed)  # fmt: skip
        chosen.append(case)
    return chosen


def golden_of(case):
    return {**case, "kind": None, "place": None}


def name_of(case):
    parts = [case["model"], case["level"], case["task"], case["summary"]]
    parts.append("training" if case["training"] else "forward")
    if case.get("seed"):
        parts.append(f"seed{case['seed']}")
    if case["kind"] is not None:
        parts += [case["kind"], str(case["place"]).replace(".", "_"), str(case["id"])]
    return "-".join(parts)


def make_model(case, plant, rank):
    """The model and what makes its inputs."""
    import fresh_models
    import models
    import torch

    models.SEED_SHIFT = fresh_models.SEED_SHIFT = case.get("seed", 0)
    if case["model"] in models.MODELS:
        torch.manual_seed(case.get("seed", 0))
        make, inputs = models.MODELS[case["model"]]
        return make(plant), inputs
    torch.manual_seed(fresh_models.SEED + rank + case.get("seed", 0))
    make, inputs = fresh_models.MODELS[case["model"]]
    if case["ranks"] == 1:
        return make(plant), inputs
    model = make(plant, rank)
    # What is not split is the same everywhere.
    torch.manual_seed(fresh_models.SEED + case.get("seed", 0))
    for part in (model.embed, model.norm, model.head):
        part.reset_parameters()
    return model, inputs


def run(case, folder, rank=0):
    import torch
    from faults import Plant, plant_gradient, plant_inputs, plant_weights, surroundings
    from sonde.torch import PrecisionDebugger

    torch.set_num_threads(1)
    if case["ranks"] > 1:
        os.environ["RANK"] = str(rank)
        rendezvous = f"file://{folder.absolute()}/rendezvous"
        size = case["ranks"]
        torch.distributed.init_process_group("gloo", rendezvous, rank=rank, world_size=size)
    plant = Plant(case["kind"], case["place"])
    plant.model, inputs = make_model(case, plant, rank)
    model = plant.model
    if case["kind"] in ("weight", "zero", "scaled", "dtype"):
        plant_weights(model, case["kind"], case["place"])
    if case["kind"] == "backward":
        plant_gradient(model, case["place"])
    config = folder / f"config{rank}.json"
    config.write_text(json.dumps({
        "task": case["task"], "level": case["level"], "dump_path": str(folder),
        "risk_level": "ALL", case["task"]: {"summary_mode": case["summary"]},
    }))  # fmt: skip
    debugger = PrecisionDebugger(config_path=str(config))
    with ExitStack() as stack:
        for around in surroundings(case["kind"], case["place"], model):
            stack.enter_context(around)
        for _ in range(2 if case["training"] else 1):
            values = plant_inputs(inputs(), case["kind"])
            debugger.start(model=model)
            with torch.set_grad_enabled(case["training"]):
                loss = model(*values).float().pow(2).mean()
            if case["training"]:
                loss.backward()
            debugger.stop()
            debugger.step()
            # Without torch's optimizers: they load its compiler, in every process again.
            with torch.no_grad():
                for weight in model.parameters():
                    if weight.grad is not None:
                        weight.sub_(weight.grad, alpha=0.05)
                        weight.grad = None


def record(case, root):
    folder = Path(root) / name_of(case)
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    children = [fork(case, folder, rank) for rank in range(case["ranks"])]
    for child in children:
        _, status = os.waitpid(child, 0)
        if status != 0:
            error = folder / "error.txt"
            printed = error.read_text() if error.is_file() else status
            raise RuntimeError(f"{name_of(case)}: {printed}")
    return folder


def fork(case, folder, rank):
    child = os.fork()
    if child != 0:
        return child
    status = 1
    try:
        with open(folder / f"log{rank}.txt", "w", encoding="utf-8") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            run(case, folder, rank)
            status = 0
    except BaseException:
        import traceback

        (folder / "error.txt").write_text(traceback.format_exc())
    finally:
        os._exit(status)


def main():
    import sonde.torch  # noqa: F401
    import torch  # noqa: F401  before the forks

    for line in sys.stdin:
        case = json.loads(line)
        record(case, sys.argv[1])
        print(line.strip(), flush=True)


if __name__ == "__main__":
    main()
