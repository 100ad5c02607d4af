"""Runs the tests of the ways to start vLLM (TESTS) on several of its releases, each in its own
environment.

What a release needs beside its wheel stands in RELEASES. The environments
(6 GB each) are made one after another in the cache folder and deleted after their test; KEEP=1
keeps them. Exit status 1 if any release fails.

Usage: run_releases.py [RELEASE...]    e.g. run_releases.py 0.12.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import environment

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ("test/vllm/test_ways.py",)


@dataclass(frozen=True)
class Needs:
    """``packages``: pinned for what the wheel leaves open; ``preload``: libraries of them, which
    the wheel asks for in LD_PRELOAD."""

    packages: tuple = ()
    preload: tuple = ()


# Not here: 0.9.1 and 0.11.2, whose wheels want newer C++ libraries than Debian 12 has.
RELEASES = {
    "0.11.0": Needs(packages=("transformers==4.57.*",)),
    "0.12.0": Needs(),
    "0.14.1": Needs(),
    "0.18.1": Needs(preload=("libtcmalloc", "libiomp5")),
    "0.23.0": Needs(packages=("fastapi==0.136.*",)),
    "0.28.0": Needs(),
    "0.31.0": Needs(),
}


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "sonde"


def summary(output):
    """The counts of pytest's last line, without its decoration."""
    for line in reversed(output.splitlines()):
        if re.search(r"\d+ (passed|failed|error)", line):
            return line.strip("= ")
    return "no test result"


def run_release(release, pytest_arguments):
    """(passed?, line for the table) of one release."""
    needs = RELEASES.get(release, Needs())
    started = time.monotonic()
    folder = cache_folder() / f"vllm-{release}"
    try:
        python = environment.make(release, folder, extra=needs.packages)
    except subprocess.CalledProcessError as error:
        return False, f"environment not made: {error}"
    variables = {**os.environ, "SONDE_VLLM_PYTHON": str(python),
                 "SONDE_VLLM_WAYS": "all"}  # fmt: skip
    if needs.preload:
        try:
            variables["LD_PRELOAD"] = environment.preloaded(python, needs.preload)
        except LookupError as error:
            return False, f"environment not complete: {error}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    result = subprocess.run([*command, *pytest_arguments], cwd=ROOT, capture_output=True, text=True,
                            env=variables, check=False)  # fmt: skip
    if result.returncode != 0:
        print(result.stdout[-12000:], result.stderr[-4000:], sep="\n")
    seconds = time.monotonic() - started
    return result.returncode == 0, f"{summary(result.stdout)} ({seconds:.0f} s with set-up)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=list(RELEASES))
    parser.add_argument("--pytest", default="", help="arguments for pytest")
    arguments = parser.parse_args()
    rows = []
    for release in arguments.releases:
        print(f"== vLLM {release}", flush=True)
        passed, line = run_release(release, arguments.pytest.split())
        rows.append((release, passed, line))
        print(f"   {'passed' if passed else 'FAILED'}: {line}", flush=True)
        if os.environ.get("KEEP") != "1":
            shutil.rmtree(cache_folder() / f"vllm-{release}", ignore_errors=True)
    print()
    for release, passed, line in rows:
        print(f"vLLM {release:7} {'passed' if passed else 'FAILED':7} {line}")
    return 0 if all(passed for _, passed, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
