"""Counts how often `sonde probe compare` explains planted changes of real models rightly.

    python test/precision/families/count_families.py FOLDER SONDE [--every N] [--only PART] [--own]

FOLDER keeps the dumps. Of the pairs every N-th is taken, or those with PART in their name;
``--own`` leaves the models of transformers out. Prints each wrong answer and alarm, and in the
last line the counts as JSON. With PYTHONPATH=python and SONDE_HOME.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from changes import BENIGN, BOTH_SIDES, FAULTS, IN_TRAINING, UNSEEN, Run  # noqa: E402
from family_models import HUGGING_FACE, OWN  # noqa: E402

LEVELS = ("mix", "mix", "L0", "L1")
SUMMARIES = (("statistics", "statistics"), ("statistics", "statistics"), ("tensor", "statistics"),
             ("statistics", "md5"))  # fmt: skip
TYPES = ("float32", "float32", "bfloat16", "autocast")
RIGHT_BENIGN = {"rounding only", "no difference"}


def cases(own_only):
    """Each kind on some families; level, task and type take turns."""
    families = tuple(OWN) if own_only else (*HUGGING_FACE, *OWN)
    turn = 0
    for offset, kind in enumerate([*FAULTS, *BENIGN]):
        for number in range(3):
            family = families[(offset * 5 + number * 7) % len(families)]
            task, summary = SUMMARIES[(turn // 2) % 4]
            case = {
                "family": family, "kind": kind, "level": LEVELS[turn % 4], "task": task,
                "summary": summary, "type": TYPES[(turn // 3) % 4],
                "training": kind in IN_TRAINING or turn % 3 != 2,
            }  # fmt: skip
            turn += 1
            if kind in BENIGN and summary == "md5" and kind not in ("nothing", "empty"):
                continue  # checksums do not show whether it is rounding
            yield case


def name_of(case, golden=False):
    parts = [case["family"], case["type"], case["level"], case["task"], case["summary"]]
    parts.append("training" if case["training"] else "forward")
    if not golden or case["kind"] in BOTH_SIDES:
        parts.append(case["kind"])
    return "-".join([*parts, "golden"] if golden else parts)


def perform(case, folder, golden):
    import torch
    from family_models import make
    from sonde.torch import PrecisionDebugger

    model = make(case["family"])
    if case["type"] == "bfloat16":
        model.to(torch.bfloat16)
    run = Run(case["family"], model)
    run.is_target = not golden
    expected = []
    if not golden or case["kind"] in BOTH_SIDES:
        change = FAULTS[case["kind"]][0] if case["kind"] in FAULTS else BENIGN[case["kind"]]
        expected = change(run)
    (folder / "expected.json").write_text(json.dumps(expected))
    torch.set_num_threads(run.threads)
    config = folder / "config.json"
    config.write_text(json.dumps({
        "task": case["task"], "level": case["level"], "dump_path": str(folder),
        case["task"]: {"summary_mode": case["summary"]},
    }))  # fmt: skip
    debugger = PrecisionDebugger(config_path=str(config))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(
        parameters, lr=run.learning_rate, weight_decay=run.decay, **run.optimizer
    )
    with ExitStack() as stack:
        for around in run.around:
            stack.enter_context(around)
        for step in range(2):
            values = model.prepare(step)
            debugger.start(model=model)
            with ExitStack() as inner:
                inner.enter_context(torch.set_grad_enabled(case["training"]))
                if case["type"] == "autocast":
                    inner.enter_context(torch.autocast("cpu", torch.bfloat16))
                loss = model(*values)
            if case["training"]:
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, run.clip)
                optimizer.step()
                optimizer.zero_grad()
            debugger.stop()
            debugger.step()


def warm_up():
    """Loads what each recording would load again by itself: optimizers load the compiler."""
    import torch

    torch.set_num_threads(1)  # threads do not survive a fork
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    torch.optim.AdamW([weight]).step()


class CannotCompute(Exception):
    """This processor has no instructions for a type (a bfloat16 LSTM needs AVX-512)."""


def record(case, root, golden):
    folder = Path(root) / name_of(case, golden)
    if (folder / "done").is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with open(folder / "log.txt", "w", encoding="utf-8") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
                perform(case, folder, golden)
                (folder / "done").touch()
                status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if status != 0:
        log = (folder / "log.txt").read_text()[-1500:]
        if "could not create a primitive" in log:
            raise CannotCompute(folder.name)
        raise RuntimeError(f"{folder}: {log}")
    return folder


def read_summary(text):
    """(cause, place, its lines) of the first finding; steps are walked in order."""
    parts = text.split("  first      ")[1:]
    for part in parts:
        cause, _, rest = part.partition(": ")
        if cause.strip() not in RIGHT_BENIGN:
            return cause, rest.split("\n")[0], part.split("\n    parameter")[0]
    return (parts[0].partition(": ")[0] if parts else "nothing printed"), "", ""


def judge(case, expected, text):
    """The answer: hit, place (with a wrong cause) or miss; of benign changes hit or alarm."""
    cause, place, lines = read_summary(text)
    if case["kind"] in BENIGN:
        return "hit" if cause in RIGHT_BENIGN else "alarm", cause, place
    causes = set(FAULTS[case["kind"]][1])
    if case["summary"] == "md5" and {"operator differs"} & causes:
        causes.add("differs, size unknown")
    inside = lines.replace("\n", " ")
    at = any(part in inside for part in expected)
    right = cause in causes
    at = at or case["level"] == "L1"  # modules are not recorded, and the parts are names of them
    if case["kind"] in UNSEEN and cause == "operator differs":
        right = "order" in lines
        at = at or case["kind"] == "channels"
    return ("hit" if at and right else "place" if at else "miss"), cause, place


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sonde")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--own", action="store_true")
    options = parser.parse_args()
    import sonde.torch  # noqa: F401
    import torch  # noqa: F401  before the forks

    if not options.own:
        import transformers  # noqa: F401
    warm_up()
    counts = dict.fromkeys(("hit", "place", "miss", "alarm", "benign", "faults", "skipped"), 0)
    seconds = 0.0
    for case in list(cases(options.own))[:: options.every]:
        if options.only not in name_of(case):
            continue
        try:
            target = record(case, options.folder, golden=False)
            expected = json.loads((target / "expected.json").read_text())
            if expected is None and case["kind"] in FAULTS or expected is False:
                continue  # this family has no such place
            golden = record(case, options.folder, golden=True)
        except CannotCompute as reason:
            print(f"SKIP  {reason}: not on this processor", flush=True)
            counts["skipped"] += 1
            continue
        output = options.folder / "results" / name_of(case)
        began = time.perf_counter()
        done = subprocess.run(
            [options.sonde, "probe", "compare", "-tp", target, "-gp", golden, "-o", output],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds += time.perf_counter() - began
        (options.folder / f"{name_of(case)}.txt").write_text(done.stdout + done.stderr)
        verdict, cause, place = judge(case, expected, done.stdout)
        benign = case["kind"] in BENIGN
        counts["benign" if benign else "faults"] += 1
        if not benign or verdict == "alarm":
            counts[verdict] += 1
        if verdict != "hit":
            print(f"{verdict.upper():5} {name_of(case)} -> {cause}: {place[:120]}", flush=True)
    print(json.dumps({**counts, "compare_s": round(seconds, 1)}))


if __name__ == "__main__":
    main()
