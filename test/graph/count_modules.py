"""Records compiled models, and counts how much of their kernels' time has a module.

    count_modules.py FOLDER SONDE [NAME,NAME...]

Of each model: training and inference, float32 and bfloat16, compiled under Sonde, then from torch's
caches, then without Sonde, which must compute the same bits. FOLDER keeps torch's caches.
"""

import csv
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "compiled_model.py"
NAMES = ("qwen2", "llama", "mixtral", "gpt2", "vit", "lstm", "convnet", "unet", "qwen3", "gemma")
WAYS = [
    *itertools.product(("infer", "train"), ("float32", "bfloat16"), ("whole",)),
    ("infer", "float32", "parts"),
    ("train", "float32", "parts"),
    ("infer", "float32", "dynamic"),
]
GOAL = 0.95

IN_REGIONS = """
WITH placed AS (
  SELECT slice_id, thread_id, ts, dur, s.name FROM slice s JOIN track USING (track_id)),
region AS (
  SELECT thread_id, ts, ts + dur AS until FROM placed WHERE name LIKE '## Call CompiledFxGraph%'),
inside AS (
  SELECT DISTINCT task_id, d.dur FROM device_task d JOIN placed p USING (slice_id)
  JOIN region r ON p.thread_id = r.thread_id AND p.ts >= r.ts AND p.ts < r.until)
SELECT (SELECT count(*) FROM region), (SELECT sum(until - ts) FROM region),
       (SELECT sum(dur) FROM inside), (SELECT sum(total_ns) FROM compiled_kernel),
       (SELECT sum(total_ns) FROM compiled_kernel WHERE path IS NOT NULL),
       (SELECT count(*) FROM compiled_kernel),
       (SELECT count(*) FROM compiled_kernel WHERE path IS NOT NULL),
       (SELECT count(*) FROM compiled_kernel WHERE lines IS NOT NULL),
       (SELECT count(*) FROM compilation)
"""


def run(words, environment, folder):
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")
    return next(line for line in done.stdout.splitlines() if line.startswith("digest"))


class Counted:
    """What the recording of one program shows."""

    def __init__(self, sonde, folder, environment):
        (span,) = folder.glob("captures/*_ascend_pt")
        words = [sonde, "query", "--format", "csv", span, IN_REGIONS]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        values = [float(value or 0) for value in next(itertools.islice(csv.reader(
            done.stdout.splitlines()), 1, None))]  # fmt: skip
        (self.regions, self.region_ns, self.inside_ns, self.known_ns, self.named_ns, self.calls,
         self.named, self.lined, self.compilations) = values  # fmt: skip

    @property
    def share(self):
        return self.named_ns / self.inside_ns if self.inside_ns else 0


def measure(sonde, folder, words):
    """The counts of a cold and of a warm recording, and whether all runs computed the same."""
    environment = {k: v for k, v in os.environ.items() if k != "SONDE_ATTACH"}
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(folder.parent / "inductor")
    environment["XDG_CACHE_HOME"] = str(folder.parent / "cache")
    if "SONDE_HOME" in environment:  # programs run in other folders
        environment["SONDE_HOME"] = str(Path(environment["SONDE_HOME"]).resolve())
    counts, digests = [], []
    for _ in range(2):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        record = [sonde, "run", "--profile", "--profile-save-path", "captures"]
        digests.append(run([*record, "--", sys.executable, PROGRAM, *words], environment, folder))
        counts.append(Counted(sonde, folder, environment))
    digests.append(run([sys.executable, PROGRAM, *words], environment, folder))
    return counts, len(set(digests)) == 1


def main(folder, sonde, names=""):
    folder, sonde, bad = Path(folder).resolve(), Path(sonde).resolve(), 0
    print(f"{'program':36}calls named lined  time named  of the region  compilations  same bits")
    for name, way in itertools.product(names.split(",") if names else NAMES, WAYS):
        words = [name, *way]
        counts, same = measure(sonde, folder / "-".join(words), words)
        for kind, one in zip(("new", "cached"), counts):
            share = one.inside_ns / one.region_ns if one.region_ns else 0
            fine = one.share >= GOAL and same and one.calls == one.named
            bad += one.share < GOAL or not same
            print(
                f"{' '.join(words) + ' ' + kind:36}{one.calls:5.0f}{one.named:6.0f}{one.lined:6.0f}"
                f"{100 * one.share:11.1f}%{100 * share:14.1f}%{one.compilations:14.0f}  "
                f"{'yes' if same else 'NO'}{'' if fine else '  <--'}",
                flush=True,
            )
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
