"""The short form of `.ci/soak`: nothing is lost, crashes, hangs or grows in some seconds of it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_some_seconds_of_the_soak():
    storms = ["--storms", "ranges,training,disk"]
    words = [sys.executable, ROOT / "tools" / "soak.py", "--seconds", "12", "--seed", "7", *storms]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["captures"] > 0 and report["ranges"] > 0, report
