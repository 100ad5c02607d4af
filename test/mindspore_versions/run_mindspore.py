"""Runs the tests on a real MindSpore with several releases, each in an environment of its own.

The environments (3 GB each) are made one after another in the cache folder and deleted after their
test; KEEP=1 keeps them. Exit status 1 if any release fails.

Usage: run_mindspore.py [RELEASE...]    e.g. run_mindspore.py 2.9.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = ROOT / "setup" / "requirements-mindspore.txt"
# 2.10.0 is that of `make setup-mindspore`.
RELEASES = ("2.7.0", "2.7.2", "2.8.0", "2.9.0")


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "sonde"


def make_environment(release, folder):
    """The interpreter of an environment with this release and what the pinned one has beside it."""
    python = folder / "bin" / "python"
    if not python.exists():
        pinned = subprocess.run([ROOT / "setup" / "python.sh", "mindspore"], check=True,
                                capture_output=True, text=True).stdout.strip()  # fmt: skip
        subprocess.run([pinned, "-m", "venv", folder], check=True)
    others = re.sub(r"(?m)^(mindspore==|#).*\n", "", REQUIREMENTS.read_text()).split()
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", *others,
                    f"mindspore=={release}"], check=True)  # fmt: skip
    return python


def run_release(release, folder, tests):
    """(passed?, the counts of pytest's last line)"""
    try:
        python = make_environment(release, folder)
    except subprocess.CalledProcessError as error:
        return False, f"environment not made: {error}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, env={**os.environ, "SONDE_MINDSPORE_PYTHON": str(python)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        print(done.stdout[-12000:], done.stderr[-4000:], sep="\n")
    lines = [line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed)", line)]
    return done.returncode == 0, lines[-1].strip("= ") if lines else "no test result"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--tests", nargs="+", default=["test/mindspore"])
    arguments = parser.parse_args()
    rows = []
    for release in arguments.releases:
        folder = cache_folder() / f"mindspore-{release}"
        passed, line = run_release(release, folder, arguments.tests)
        rows.append((passed, f"MindSpore {release:7} {'passed' if passed else 'FAILED':7} {line}"))
        print(rows[-1][1], flush=True)
        if os.environ.get("KEEP") != "1":
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(passed for passed, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
