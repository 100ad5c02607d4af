"""Inputs of the rarer modes and what the reference makes of them, for a Python with it and torch.

    make_modes.py FOLDER    # FOLDER/<case>/{inputs..., reference}

Cases: fsdp and megatron (--consistent_check) of statistics and tensors, atb, two logs of verl.
"""

import csv
import random
import sys
from pathlib import Path

import torch
from make_pairs import apart

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "precision"))

from engine_model import BACKENDS, write_engines  # noqa: E402

ATB_HEAD = ("Device and PID", "Count", "OpName", "Type", "OpId", "IO", "Index", "Dtype", "Format")
ATB_HEAD += ("Shape", "Max", "Min", "Mean", "Norm", "Path")

VERL = """(TaskRunner pid=7) {{'actor_rollout_ref': {{'actor': {{'clip_ratio': 0.2,
(TaskRunner pid=7)                                  'lr': {lr},
(TaskRunner pid=7)                                  'names': ['a', 'b'],
(TaskRunner pid=7)                                  'shuffle': {shuffle}}},
(TaskRunner pid=7)                       'rollout': {{'name': 'vllm'}}}},
(TaskRunner pid=7)  'trainer': {{'balance_batch': False,
(TaskRunner pid=7)              'profiler': {{'steps': None}},
(TaskRunner pid=7)              'nothing': None}}}}
"""


def reference(words, out):
    """`msprobe WORDS -o OUT`, in a process of its own."""
    from msprobe.msprobe import main

    def work():
        sys.argv = ["msprobe", *map(str, words), "-o", str(out)]
        main()

    apart(work, out)


def save_tensor(folder, name, shape):
    """The engines' tensors differ a little, by their place."""
    seed = sum(name.encode()) + len(str(folder))
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator)
    torch.save(values, folder / f"{name}.pt")
    return f"{name}.pt"


def engines(folder):
    for backend in BACKENDS:
        for task, save in (("statistics", None), ("tensor", save_tensor)):
            case = folder / f"{backend}_{task}"
            pair = write_engines(case, backend, task, save)
            paths = ("-tp", pair[0] / "dump.json", "-gp", pair[1] / "dump.json")
            words = ("compare", *paths, "--consistent_check", "--backend", backend)
            reference(words, case / "reference")


def atb_rows(draw):
    for i in range(20):
        name, number = (f"Layer{i}/Linear", f"{i}_0") if i % 3 else (f"Op{i}", str(i))
        values = [draw.choice((0, draw.gauss(0, 1), "N/A", "nan")) for _ in range(4)]
        yield ["0_77", 0, name, "t", number, "output", 0, "fp16", "nd", "2,2", *values, "N/A"]


def atb(folder):
    for side in ("target", "golden"):
        place = folder / "atb" / side
        place.mkdir(parents=True)
        with (place / "statistic.csv").open("w", newline="") as file:
            csv.writer(file).writerows((ATB_HEAD, *atb_rows(random.Random(side))))
        (place / "statistic.csv").chmod(0o640)
    sides = ("-tp", folder / "atb/target", "-gp", folder / "atb/golden")
    reference(("compare", "-m", "atb", *sides), folder / "atb/reference")


def verl(folder):
    (folder / "verl").mkdir()
    logs = [folder / "verl" / name for name in ("npu.log", "gpu.log")]
    for log, lr, shuffle in zip(logs, ("1e-06", "2e-06"), ("False", "True")):
        log.write_text(VERL.format(lr=lr, shuffle=shuffle))
        log.chmod(0o640)
    reference(("config_check", "-vc", *logs), folder / "verl/compared")
    reference(("config_check", "-vv", logs[1]), folder / "verl/verified")


def main():
    folder = Path(sys.argv[1])
    engines(folder)
    atb(folder)
    verl(folder)


if __name__ == "__main__":
    main()
