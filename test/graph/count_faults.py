"""Plants faults in torch's compiler, one at a time, and counts which `sonde probe first_difference`
finds with module and line (wrong gradients: with module); then looks at models without a fault.

    count_faults.py FOLDER SONDE [faults|backward|right|families] [NAME,NAME...]

Without words: all. FOLDER keeps torch's caches.
"""

import itertools
import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE / "programs")]

from sonde._first_difference import _kernels, _verdict  # noqa: E402
from sonde._first_difference._runs import EAGER, INDUCTOR, Failed, Runner  # noqa: E402

DTYPES = ("float32", "bfloat16", "float16")
FAMILIES = ("qwen2", "llama", "mixtral", "gpt2", "vit", "lstm", "convnet", "unet", "qwen3", "gemma")
GOAL = 0.9  # of the faults


def judge(sonde, folder, words):
    """What `first_difference` says of a program; without the second eager run, since all of them
    have a seed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    runner = Runner(str(sonde), [sys.executable, *words], str(folder))
    golden = runner.dump(EAGER, EAGER)
    target = runner.dump(INDUCTOR, INDUCTOR)
    compared = runner.compare(target, golden)
    compiled = _kernels.read(runner.check_kernels("kernels").folder)
    return _verdict.conclude(EAGER, INDUCTOR, compared, compiled), compiled


def count_faults(sonde, folder, names):
    import parts
    from compiler_faults import FAULTS

    found = planted = 0
    for name, (part, kind, _) in FAULTS.items():
        if names and part not in names:
            continue
        planted += 1
        words = [str(HERE / "programs" / "faulty_model.py"), part, "float32", name]
        began = time.time()
        try:
            verdict, compiled = judge(sonde, folder / "fault", words)
        except Failed as problem:
            print(f"{name:40}{kind:15}NO RESULT: {problem}", flush=True)
            continue
        text = _verdict.text_of(verdict)
        line = f"parts.py({parts.line_of(part)})"
        right = verdict.module == "middle.operator" and line in text
        kernels = [row["module"] for row in compiled.differing()]
        blamed = "kernel" if kernels else "graph"
        wrong = [module for module in kernels if not module.startswith("middle")]
        right = right and verdict.differs and not wrong
        found += right
        print(
            f"{name:40}{kind:15}{'found' if right else 'MISSED':8}{verdict.module:18}{blamed:8}"
            f"{time.time() - began:5.0f} s",
            flush=True,
        )
        if not right:
            print(text, flush=True)
    print(f"{found} of {planted} faults found with module and line", flush=True)
    return found >= GOAL * planted


def count_backward(sonde, folder, names):
    """Wrong gradients, which only a program that trains shows, and the same without a fault."""
    import trained_model

    program = str(HERE / "programs" / "trained_model.py")
    fine = True
    for name, (_, _, module) in trained_model.FAULTS.items():
        if names and name not in names:
            continue
        verdict, _ = judge(sonde, folder / "fault", [program, "float32", name])
        right = (verdict.module, verdict.phase) == (module, "backward")
        print(f"{name:40}{'found' if right else 'MISSED':8}{verdict.module} {verdict.phase}")
        fine &= right
        if not right:
            print(_verdict.text_of(verdict), flush=True)
    programs = [(f"training {dtype}", [program, dtype]) for dtype in DTYPES[:2] if not names]
    return count_right(sonde, folder, programs) and fine


def count_right(sonde, folder, programs):
    false = models = values = checked = 0
    for title, words in programs:
        began = time.time()
        try:
            verdict, compiled = judge(sonde, folder / "right", words)
        except Failed as problem:
            print(f"{title:30}NO RESULT: {problem}", flush=True)
            continue
        is_wrong = verdict.differs or bool(compiled.differing())
        models += 1
        false += is_wrong
        values += len(compiled.checks)
        checked += compiled.checked()
        print(
            f"{title:30}{'ACCUSED' if is_wrong else 'nothing':9}{compiled.checked():5} of "
            f"{len(compiled.checks):4} values checked{time.time() - began:5.0f} s",
            flush=True,
        )
        if is_wrong:
            print(_verdict.text_of(verdict), flush=True)
    print(f"{false} of {models} programs accused, {checked} of {values} values checked", flush=True)
    return false == 0


def small_programs(names):
    import parts

    program = str(HERE / "programs" / "faulty_model.py")
    for name, dtype in itertools.product(names or parts.FORWARD, DTYPES):
        yield f"{name} {dtype}", [program, name, dtype]


def families(names):
    program = str(HERE / "programs" / "compiled_model.py")
    for name, dtype in itertools.product(names or FAMILIES, DTYPES):
        yield f"{name} {dtype}", [program, name, "infer", dtype]


def main(folder, sonde, what="", names=""):
    folder, sonde = Path(folder).resolve(), Path(sonde).resolve()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    for cache in ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"):
        os.environ[cache] = "0"  # graphs of another fault
    names = names.split(",") if names else []
    fine = True
    if what in ("", "faults"):
        fine &= count_faults(sonde, folder, names)
    if what in ("", "backward"):
        fine &= count_backward(sonde, folder, names)
    if what in ("", "right"):
        fine &= count_right(sonde, folder, small_programs(names))
    if what in ("", "families"):
        fine &= count_right(sonde, folder, families(names))
    raise SystemExit(0 if fine else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
