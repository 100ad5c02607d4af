"""Compiles a model in vLLM without Sonde, starts it again under Sonde from vLLM's caches, and
counts how much of the kernels' time has a module.

    count_warm.py FOLDER SONDE

Twice: as vLLM 0.32 starts on a CPU (Dynamo runs, Inductor does not), and with vLLM's artefact
loaded, as on a device (neither runs). Answers and their probabilities must be those without Sonde.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from count_modules import GOAL, Counted

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "programs" / "vllm_offline.py"
MODEL_SCRIPT = HERE.parents[1] / "examples" / "vllm" / "make_model.py"
WAYS = ("usual", "loaded")


def digests(words, environment, folder):
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stdout}\n{done.stderr}")
    print("".join(f"  {line}\n" for line in done.stderr.splitlines() if "of compiled code" in line))
    return done.stdout, [line for line in done.stdout.splitlines() if line.startswith("digest")]


def environment_of(folder):
    environment = {k: v for k, v in os.environ.items() if k != "SONDE_ATTACH"}
    environment.update(
        VLLM_CACHE_ROOT=str(folder / "vllm"),
        VLLM_ENABLE_V1_MULTIPROCESSING="0",
        VLLM_CPU_KVCACHE_SPACE="1",
        XDG_CACHE_HOME=str(folder / "cache"),  # tables that Sonde kept of other runs
    )
    return environment


def count(sonde, folder, way, cold):
    """Whether one warm start is as it should be."""
    shutil.rmtree(folder / way, ignore_errors=True)
    shutil.copytree(folder / "compiled", folder / way / "vllm")
    record = [sonde, "run", "--profile-save-path", "captures", "--"]
    text, warm = digests(
        [*record, sys.executable, PROGRAM, folder / "model", way],
        environment_of(folder / way), folder / way,
    )  # fmt: skip
    (rank,) = (folder / way).glob("captures/rank0_*_ascend_pt")
    shutil.move(rank, folder / way / "captures" / "only_ascend_pt")
    for other in (folder / way / "captures").iterdir():
        if other.name != "only_ascend_pt":
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    one = Counted(sonde, folder / way, environment_of(folder / way))
    is_loaded = "artefact loaded" in text
    fine = one.share >= GOAL and warm == cold and is_loaded == (way == "loaded")
    print(
        f"{way:8}{one.named:4.0f} of {one.calls:.0f} calls and {100 * one.share:.2f} % of the "
        f"kernels' time have a module; same answers: {'yes' if warm == cold else 'NO'}",
        flush=True,
    )
    return fine


def main(folder, sonde):
    folder, sonde = Path(folder).resolve(), Path(sonde).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if "SONDE_HOME" in os.environ:  # programs run in other folders
        os.environ["SONDE_HOME"] = str(Path(os.environ["SONDE_HOME"]).resolve())
    subprocess.run([sys.executable, MODEL_SCRIPT, folder / "model"], check=True)
    _, cold = digests(
        [sys.executable, PROGRAM, folder / "model", "usual"], environment_of(folder), folder
    )
    (folder / "vllm").rename(folder / "compiled")
    fine = [count(sonde, folder, way, cold) for way in WAYS]
    raise SystemExit(0 if all(fine) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
