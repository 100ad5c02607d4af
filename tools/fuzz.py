"""Builds the fuzz targets and runs each for some time; exit status 1 when one found a crash.

A target starts from what is committed below test/fuzz/<target>/ (seeds, and inputs that crashed
once) and from the corpus that earlier runs left in the user's cache folder, where new inputs go.
An input that crashes is kept there too, and the command that repeats it is printed.
Called by `make fuzz`; FUZZ_SECONDS and FUZZ_TARGETS are its variables.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
SEEDS = ROOT / "test" / "fuzz"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sonde" / "fuzz"

# A single input may take this long and use that much before it counts as a finding.
SECONDS_AN_INPUT = 20
MEGABYTES = 2048


def chosen_of(names, wanted):
    """Those that are named, or whose folder of src/ is; all without `wanted`."""
    for word in wanted:
        if not any(name == word or name.startswith(f"{word}_") for name in names):
            sys.exit(f"fuzz: unknown target {word}; known: {', '.join(names)}")
    return [
        name
        for name in names
        if not wanted or any(name == word or name.startswith(f"{word}_") for word in wanted)
    ]


def build(jobs, wanted):
    """Builds the wanted targets (default: all); returns their names, sorted."""
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    known = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", "help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = sorted(set(re.findall(r"^fuzz_(\w+):", known, re.MULTILINE)))
    if not names:
        sys.exit("fuzz: no target found")
    names = chosen_of(names, wanted)
    targets = [f"fuzz_{name}" for name in names]
    command = ["cmake", "--build", str(BUILD), "-j", str(jobs), "--target", *targets]
    subprocess.run(command, check=True)
    return names


def program_of(name):
    found = [path for path in BUILD.rglob(f"fuzz_{name}") if path.is_file()]
    if len(found) != 1:
        sys.exit(f"fuzz: expected one program fuzz_{name}, found {len(found)}")
    return found[0]


def run_target(name, seconds):
    """(name, exit status, the last lines worth showing) of one target."""
    corpus = CACHE / name
    crashes = CACHE / "crashes" / name
    for folder in (corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(program_of(name)),
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS_AN_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        "-max_len=65536",
        "-print_final_stats=1",
        f"-artifact_prefix={crashes}/",
        str(corpus),
    ]
    seeds = SEEDS / name
    if seeds.is_dir():
        command.append(str(seeds))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return name, done.returncode, done.stderr


def figure(pattern, text):
    found = re.findall(pattern, text)
    return found[-1] if found else "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument(
        "targets", nargs="*", help="only these, or those of these folders (default: all)"
    )
    arguments = parser.parse_args()

    chosen = build(arguments.jobs, arguments.targets)
    failed = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, code, log in pool.map(lambda n: run_target(n, arguments.seconds), chosen):
            runs = figure(r"stat::number_of_executed_units:\s*(\d+)", log)
            covered = figure(r"cov: (\d+)", log)
            print(f"{name}: {runs} inputs, {covered} edges, exit status {code}", flush=True)
            if code != 0:
                failed.append(name)
                print("\n".join(log.splitlines()[-60:]))
                print(f"repeat: {program_of(name)} FILE, with a file of {CACHE / 'crashes' / name}")
    print(f"{len(chosen) - len(failed)} targets without a finding, {len(failed)} with one")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
