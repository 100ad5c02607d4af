"""Remembers which checks passed, so that a second run repeats only those whose input changed.

The key of a check is the digest of everything that its outcome depends on: the file, all files of
this tree that it includes, the configuration, the command line and the tool's version. Only passes
are kept.
"""

import concurrent.futures
import hashlib
import os
import subprocess
from pathlib import Path

import source_tree


def cache_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sonde" / "lint"


def tool_version(tool):
    return subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout


def key_of(path, *more):
    digest = hashlib.sha256()
    for text in more:
        digest.update(text.encode() + b"\0")
    for name in source_tree.included_closure(path):
        digest.update(str(name).encode() + b"\0" + source_tree.read(name).encode() + b"\0")
    return digest.hexdigest()


def run_checks(checks, jobs):
    """Runs (title, key, command) checks not known to pass; returns (title, output) of failures."""
    passed = cache_folder()
    passed.mkdir(parents=True, exist_ok=True)
    todo = [check for check in checks if not (passed / check[1]).exists()]

    def run(check):
        title, key, command = check
        done = subprocess.run(
            command, cwd=source_tree.ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            (passed / key).touch()
            return None
        return title, done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(run, todo) if failure]
    print(
        f"  {len(checks)} files, {len(checks) - len(todo)} known to pass, {len(failures)} failed",
        flush=True,
    )
    return failures
