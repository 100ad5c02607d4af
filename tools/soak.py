"""Records, kills, analyses and serves for some time, and counts what was lost.

Several storms at once (soak_storms/): programs that record and are killed at random, analyses that
are killed at random, a page that answers statements, training under `sonde run`, a disk that fills
and is emptied, a vLLM server whose sessions are started and stopped by HTTP under four streams of
requests. Afterwards each capture must give everything that was made, or count it as dropped. Prints
one JSON object; exit status 1 where something was lost, crashed, hung over a minute or grew. What
needs something that is not there (root, PyTorch, vLLM) is left out and named.

Called by `.ci/soak`; tools/soak.py --seconds 3600 --storms ranges,disk
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from soak_storms import disk, ranges, server, training
from soak_storms.ground import Ground, Report

STORMS = {"ranges": ranges, "training": training, "disk": disk, "server": server}
MOST_GROWTH = {"growth_mb": 64, "growth_fds": 16, "server_growth_mb": 256, "server_growth_fds": 32}


def names(text):
    unknown = set(text.split(",")) - set(STORMS)
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown.pop()} is none of {', '.join(STORMS)}")
    return text.split(",")


def rage(name, ground):
    try:
        STORMS[name].rage(ground)
    except Exception as problem:  # its end is a finding, and the others go on
        ground.report.add(crashes=1)
        ground.log(name, f"ended by {problem!r}")


def soak(folder, options):
    report, end = Report(), time.monotonic() + options.seconds
    threads = []
    for number, name in enumerate(options.storms):
        ground = Ground(folder / name, report, end, options.seed + number)
        threads.append(threading.Thread(target=rage, args=(name, ground)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    leftovers = [path.name for path in folder.rglob(".sonde-*.partial")]
    return {**report.figures, "temporary_folders_left": len(leftovers)}


def is_good(report):
    grew = [name for name, most in MOST_GROWTH.items() if report.get(name, 0) > most]
    return report["captures"] and not any(
        (report["lost"], report["crashes"], report["hangs"], grew)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--storms", type=names, default=list(STORMS), help=", ".join(STORMS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde_soak_") as folder:
        report = soak(Path(folder), options)
    print(json.dumps(report))
    return 0 if is_good(report) else 1


if __name__ == "__main__":
    sys.exit(main())
