"""Counts how often `sonde probe compare` names the place of a planted fault.

    python test/precision/planted/benchmark.py FOLDER SONDE [EVERY [fresh | SEED]]

FOLDER keeps the dumps; of the pairs every EVERY-th is taken (1); "fresh": of the other set of
models, which the rules were not tried on when they were made; a number: 75 pairs by lot, of both
sets, with other weights, inputs and places. Prints each miss, the counts by kind of fault, and in
the last line those of all as JSON. With PYTHONPATH=python and SONDE_HOME.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from judge import judge  # noqa: E402
from pairs import cases, golden_of, held_out, name_of, record  # noqa: E402


def record_all(root, chosen):
    tree = {"level": "mix", "task": "statistics", "summary": "statistics", "training": True}
    for case in chosen:
        record(case, root)
        record(golden_of(case), root)
        record({**golden_of(case), **tree}, root)


def main():
    import sonde.torch  # noqa: F401
    import torch  # noqa: F401  before the forks

    root, sonde = Path(sys.argv[1]), sys.argv[2]
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1

    def probe(*arguments):
        command = [sonde, "probe", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True)

    last = sys.argv[-1]
    by_lot = len(sys.argv) > 4 and last.isdigit()
    chosen = held_out(int(last)) if by_lot else list(cases(fresh=last == "fresh"))[::every]
    record_all(root, chosen)
    print("recorded", flush=True)
    verdicts = [judge(probe, root, case, root / "results" / name_of(case)) for case in chosen]
    for verdict in verdicts:
        if not verdict.hit:
            print("ALARM" if verdict.alarm else "MISS ", verdict.line())
    total, hits = Counter(), Counter()
    for verdict in verdicts:
        total[verdict.case["kind"]] += 1
        hits[verdict.case["kind"]] += verdict.hit
    print(", ".join(f"{kind} {hits[kind]}/{total[kind]}" for kind in total))
    alarms = sum(verdict.alarm for verdict in verdicts)
    print(json.dumps({"pairs": len(verdicts), "right": sum(hits.values()), "alarms": alarms}))


if __name__ == "__main__":
    main()
