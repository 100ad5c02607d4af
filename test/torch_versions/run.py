"""Runs the adapter's tests (TESTS) on several torch releases, each in its own environment.

The releases and the Python each is tried with stand in RELEASES, so that the table of Python
frame layouts is covered, too; where that Python is not installed, the newest that is and that the
release has a wheel for. The environments (5 GB each) are made one after another in the cache
folder and deleted after their test; KEEP=1 keeps them. Exit status 1 if any release fails.

Usage: run.py [RELEASE...]    e.g. run.py 2.6.0
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# The second: what programs read from torch's own classes, whose fields differ.
TESTS = ("test/torch", "test/e2e/test_own_tables.py")

# Release: Python minor versions to try, in order.
RELEASES = {
    "2.4.1": (9, 10, 11, 12),
    "2.6.0": (12, 11, 10),
    "2.9.1": (13, 12, 11, 10),
    "2.13.0": (10, 11, 12, 13),
    "2.15.0": (11, 12, 13, 10),
}


def find_python(minors):
    """The first interpreter of these minor versions on PATH or under pyenv."""
    for minor in minors:
        name = f"python3.{minor}"
        candidates = [shutil.which(name)]
        candidates += sorted(
            glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/{name}"))
        )
        for candidate in filter(None, candidates):
            probe = [candidate, "-c", "import sys, venv, ensurepip; print(sys.version_info[1])"]
            result = subprocess.run(probe, capture_output=True, text=True, check=False)
            if result.returncode == 0 and result.stdout.strip() == str(minor):
                return candidate
    return None


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "sonde"


def make_environment(release, python):
    """Path of the environment's interpreter."""
    folder = cache_folder() / f"torch-{release}"
    interpreter = folder / "bin" / "python"
    if (folder / "complete").exists():
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    packages = [f"torch=={release}", "numpy", "pytest", "setuptools"]
    pip = [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-cache-dir", *packages], check=True)
    (folder / "complete").touch()
    return interpreter


def summary(output):
    """The counts of pytest's last line, without its decoration."""
    for line in reversed(output.splitlines()):
        if re.search(r"\d+ (passed|failed|error)", line):
            return line.strip("= ")
    return "no test result"


def run_release(release, pytest_arguments):
    """(passed?, line for the table) of one release."""
    python = find_python(RELEASES.get(release, (11, 12, 13, 10)))
    if python is None:
        return False, "no suitable Python found"
    started = time.monotonic()
    try:
        interpreter = make_environment(release, python)
    except subprocess.CalledProcessError as error:
        return False, f"environment not made: {error}"
    version = subprocess.run(
        [str(interpreter), "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    command = [str(interpreter), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    result = subprocess.run(
        [*command, *pytest_arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        print(result.stdout[-12000:], result.stderr[-4000:], sep="\n")
    seconds = time.monotonic() - started
    line = f"Python {version}: {summary(result.stdout)} ({seconds:.0f} s with set-up)"
    return result.returncode == 0, line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=list(RELEASES))
    parser.add_argument("--pytest", default="", help="arguments for pytest")
    arguments = parser.parse_args()
    rows = []
    for release in arguments.releases:
        print(f"== torch {release}", flush=True)
        passed, line = run_release(release, arguments.pytest.split())
        rows.append((release, passed, line))
        print(f"   {'passed' if passed else 'FAILED'}: {line}", flush=True)
        if os.environ.get("KEEP") != "1":
            shutil.rmtree(cache_folder() / f"torch-{release}", ignore_errors=True)
    print()
    for release, passed, line in rows:
        print(f"torch {release:7} {'passed' if passed else 'FAILED':7} {line}")
    return 0 if all(passed for _, passed, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
