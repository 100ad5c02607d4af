"""Counts how often `sonde probe compare` explains planted changes of real models rightly.

    python test/precision/families/count_families.py FOLDER SONDE [--every N] [--only PART] [--own]
        [--turn N]

FOLDER keeps the dumps, which are made again when a source of them changed. Of the pairs every N-th
is taken, or those with PART in their name; ``--own`` leaves the models of transformers out;
``--turn`` gives each kind other families, levels and types. Prints each wrong answer and alarm, and
in the last lines the counts as JSON: those of each set and of all. `unseen`: faults that statistics
do not show, where the text states so. With PYTHONPATH=python and SONDE_HOME.
"""

import argparse
import functools
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import changes  # noqa: E402
import engines  # noqa: E402
import outside  # noqa: E402
import porting  # noqa: E402
import ranks  # noqa: E402
from changes import Run  # noqa: E402
from family_models import HUGGING_FACE, OWN  # noqa: E402

SETS = (changes, porting, engines, outside, ranks)
KINDS = {*(part.__name__ for part in SETS), "outside_benign"}
FAULTS = {kind: fault for part in SETS for kind, fault in part.FAULTS.items()}
BENIGN = {kind: change for part in SETS for kind, change in part.BENIGN.items()}
IN_TRAINING = set().union(*(part.IN_TRAINING for part in SETS))
BOTH_SIDES = set().union(*(part.BOTH_SIDES for part in SETS))
LOSS = {"labels", "loss_sum", "padding_ignored", "accumulation", "smoothing", "loss_scale",
        "by_sequence"}  # fmt: skip
UNSEEN = set().union(*(getattr(part, "UNSEEN", ()) for part in SETS))

LEVELS = ("mix", "mix", "L0", "L1")
SUMMARIES = (("statistics", "statistics"), ("statistics", "statistics"), ("tensor", "statistics"),
             ("statistics", "md5"))  # fmt: skip
TYPES = ("float32", "float32", "bfloat16", "autocast")
RIGHT_BENIGN = {"rounding only", "no difference"}


def cases(own_only, turn=0):
    """Each kind on some families; level, task and type take turns, from `turn` on."""
    every = tuple(OWN) if own_only else (*HUGGING_FACE, *OWN)
    first = turn
    kinds = [
        (part, kind) for part in SETS if part is not ranks for kind in (*part.FAULTS, *part.BENIGN)
    ]
    for offset, (part, kind) in enumerate(kinds):
        known = every if own_only else (*every, *getattr(part, "MORE", ()))
        families = [f for f in known if f in getattr(part, "WHERE", {}).get(kind, known)]
        for number in range(3 if families else 0):
            stride = 7 if len(families) % 7 else 1
            family = families[(first + offset * 5 + number * stride) % len(families)]
            task, summary = SUMMARIES[(turn // 2) % 4]
            training = turn % 3 != 2 and kind not in porting.FORWARD_ONLY
            case = {
                "set": part.__name__, "family": family, "kind": kind, "level": LEVELS[turn % 4],
                "task": task, "summary": summary, "type": TYPES[(turn // 3) % 4],
                "training": kind in IN_TRAINING or training,
            }  # fmt: skip
            if kind in LOSS and case["level"] == "L0":
                case["level"] = "mix"  # the loss is no module
            turn += 1
            if kind in BENIGN and summary == "md5" and kind not in ("nothing", "empty"):
                continue  # checksums do not show whether it is rounding
            yield case
    yield from cases_of_ranks([f for f in ranks.FAMILIES if f in every])


def cases_of_ranks(families):
    """Each kind with each wrapper."""
    for turn, kind in enumerate([*ranks.FAULTS, *ranks.BENIGN]):
        for number, wrapper in enumerate(ranks.WRAPS):
            if (kind, wrapper) in ranks.NOT_WITH:
                continue
            yield {
                "set": "ranks", "family": families[(turn + 2 * number) % len(families)],
                "kind": kind, "level": ("mix", "L0", "mix", "L1")[(turn + number) % 4],
                "task": "statistics", "summary": "statistics",
                "type": ("float32", "bfloat16")[turn // 2 % 2], "training": True, "wrap": wrapper,
            }  # fmt: skip


def name_of(case, golden=False):
    parts = [case["family"], case["type"], case["level"], case["task"], case["summary"]]
    parts.append("training" if case["training"] else "forward")
    if "wrap" in case:
        parts.append(case["wrap"])
    if not golden or case["kind"] in BOTH_SIDES:
        parts.append(case["kind"])
    return "-".join([*parts, "golden"] if golden else parts)


def perform(case, folder, golden, rank=0):
    """Records one side; of several ranks one of them."""
    import torch
    from family_models import make
    from sonde.torch import PrecisionDebugger

    model = make(case["family"])
    if case["type"] == "bfloat16":
        model.to(torch.bfloat16)
    run = Run(case["family"], model)
    run.is_target = not golden
    run.rank = run.data_rank = rank
    expected = []
    if not golden or case["kind"] in BOTH_SIDES:
        change = FAULTS[case["kind"]][0] if case["kind"] in FAULTS else BENIGN[case["kind"]]
        expected = change(run)
    if rank == 0:
        (folder / "expected.json").write_text(json.dumps(expected))
    torch.set_num_threads(run.threads)
    config = folder / f"config{rank}.json"
    config.write_text(json.dumps({
        "task": case["task"], "level": case["level"], "dump_path": str(folder),
        case["task"]: {"summary_mode": case["summary"]},
    }))  # fmt: skip
    debugger = PrecisionDebugger(config_path=str(config))
    model = run.model
    prepare = model.prepare
    if "wrap" in case:
        model = ranks.wrap(run, case["wrap"])
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(
        run.groups(parameters), lr=run.learning_rate, weight_decay=run.decay, **run.optimizer
    )
    with ExitStack() as stack:
        for around in run.around:
            stack.enter_context(around)
        for step in range(2):
            values = prepare(step + 10 * run.data_rank)
            debugger.start(model=model)
            take_step(case, run, model, optimizer, values)
            debugger.stop()
            debugger.step()


def take_step(case, run, model, optimizer, values):
    import torch

    with ExitStack() as inner:
        inner.enter_context(torch.set_grad_enabled(case["training"]))
        if case["type"] == "autocast":
            inner.enter_context(torch.autocast("cpu", torch.bfloat16))
        loss = model(*values)
    if not case["training"]:
        return
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), run.clip, **run.clipping)
    optimizer.step()
    optimizer.zero_grad(**run.zero_grad)


def warm_up():
    """Loads what each recording would load again by itself: optimizers load the compiler."""
    import torch

    torch.set_num_threads(1)  # threads do not survive a fork
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    torch.optim.AdamW([weight]).step()


class CannotCompute(Exception):
    """This processor has no instructions for a type (a bfloat16 LSTM needs AVX-512)."""


def reached(item, seen):
    """Sources of a function or class, and of what it names in its module."""
    if item in seen:
        return
    seen[item] = inspect.getsource(item)
    known = vars(sys.modules[item.__module__])
    for name in re.findall(r"\w+", seen[item]):
        other = known.get(name)
        if callable(other) and getattr(other, "__module__", "") in KINDS:
            reached(other, seen)


@functools.cache
def sources(kind):
    """A digest of what a dump depends on: the models, the recorder, and the change."""
    import torch

    digest = hashlib.sha256(torch.__version__.encode())
    package = Path(__file__).resolve().parents[3] / "python" / "sonde"
    models = Path(__file__).with_name("family_models.py")
    for path in (models, *sorted(package.rglob("*.py"))):
        digest.update(path.read_bytes())
    change = BENIGN[kind] if kind in BENIGN else FAULTS[kind][0] if kind else Run
    parts = {}
    for item in (Run, change):
        reached(item, parts)
    for text in (*map(inspect.getsource, (perform, take_step)), *parts.values()):
        digest.update(text.encode())
    return digest.hexdigest()


def record(case, root, golden):
    folder = Path(root) / name_of(case, golden)
    done = folder / "done"
    wanted = sources("" if golden and case["kind"] not in BOTH_SIDES else case["kind"])
    if done.is_file() and done.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    count = ranks.RANKS if "wrap" in case else 1
    children = [start(case, folder, golden, rank) for rank in range(count)]
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    if failed:
        log = "".join(path.read_text()[-1500:] for path in sorted(folder.glob("log*.txt")))
        if "could not create a primitive" in log:
            raise CannotCompute(folder.name)
        raise RuntimeError(f"{folder}: {log}")
    done.write_text(wanted)
    return folder


def start(case, folder, golden, rank):
    """A process that records one rank; its id."""
    child = os.fork()
    if child != 0:
        return child
    status = 1
    try:
        with open(folder / f"log{rank}.txt", "w", encoding="utf-8") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            with ranks.two_ranks(rank, folder / "store") if "wrap" in case else nullcontext():
                perform(case, folder, golden, rank)
            status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


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
    found = cause not in RIGHT_BENIGN
    at = at or (
        case["level"] == "L1" and found
    )  # modules are not recorded, and the parts are names of them
    says = "another order of the same numbers" in text
    if case["kind"] in UNSEEN and not (at and right) and case["task"] == "statistics" and says:
        return "unseen", cause, place  # the statistics agree, and the text states what that leaves
    first = text.partition("\n")[0]
    named = case["level"] == "L1" or any(part in text for part in expected)
    if not found and named and "which no result shows" in first:
        return (
            "unseen",
            cause,
            place,
        )  # the results are equal, and the first line names the argument
    return ("hit" if at and right else "place" if at else "miss"), cause, place


def compare(case, options):
    """(verdict, cause, place, seconds) of one pair; None where the family has no such place."""
    target = record(case, options.folder, golden=False)
    expected = json.loads((target / "expected.json").read_text())
    if expected is None and case["kind"] in FAULTS or expected is False:
        return None
    golden = record(case, options.folder, golden=True)
    output = options.folder / "results" / name_of(case)
    began = time.perf_counter()
    done = subprocess.run(
        [options.sonde, "probe", "compare", "-tp", target, "-gp", golden, "-o", output],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    (options.folder / f"{name_of(case)}.txt").write_text(done.stdout + done.stderr)
    return *judge(case, expected, done.stdout), seconds


def count(chosen, options):
    """The counts of each set."""
    empty = dict.fromkeys(
        ("hit", "unseen", "place", "miss", "alarm", "benign", "faults", "skipped"), 0
    )
    counts = {part.__name__: {**empty, "compare_s": 0.0} for part in SETS}
    for case in chosen:
        of_set = counts[case["set"]]
        try:
            answer = compare(case, options)
        except CannotCompute as reason:
            print(f"SKIP  {reason}: not on this processor", flush=True)
            of_set["skipped"] += 1
            continue
        if answer is None:
            continue
        verdict, cause, place, seconds = answer
        of_set["compare_s"] = round(of_set["compare_s"] + seconds, 1)
        benign = case["kind"] in BENIGN
        of_set["benign" if benign else "faults"] += 1
        if not benign or verdict == "alarm":
            of_set[verdict] += 1
        if verdict != "hit":
            print(f"{verdict.upper():5} {name_of(case)} -> {cause}: {place[:120]}", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sonde")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", default="", help="changes, porting, engines, outside or ranks")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--turn", type=int, default=0)
    options = parser.parse_args()
    options.folder = options.folder.resolve()  # ranks meet at a file:// address
    import sonde.torch  # noqa: F401
    import torch  # noqa: F401  before the forks

    if not options.own:
        import transformers  # noqa: F401
    warm_up()
    chosen = [c for c in cases(options.own, options.turn) if options.set in ("", c["set"])]
    chosen = chosen[:: options.every]
    counts = count([c for c in chosen if options.only in name_of(c)], options)
    for name, of_set in counts.items():
        print(json.dumps({"set": name, **of_set}))
    keys = next(iter(counts.values()))
    print(json.dumps({key: round(sum(c[key] for c in counts.values()), 1) for key in keys}))


if __name__ == "__main__":
    main()
