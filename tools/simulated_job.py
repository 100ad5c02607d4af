"""Writes traces of a simulated training job of eight NPUs, one of them with a slow kernel.

simulated_job.py FOLDER

Ranks work as two stages of a pipeline, in pairs of tensor and data parallelism, with experts. The
simulation is that of the tests (test/e2e/planted_job.py), and uses nothing of Sonde.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test" / "e2e"))
from planted_job import Job  # noqa: E402
from planted_ranks import write  # noqa: E402


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    write(
        Job(tp=2, ep=2, pp=2, dp=2, steps=8, cause="kernel", rank=5, strength=0.06, since=3), folder
    )
    print(f"traces of 8 ranks are in {folder}")


if __name__ == "__main__":
    main()
