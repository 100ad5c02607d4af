"""Runs the unit tests of a build for 64-bit Arm under qemu.

run_arm_tests.py BUILD_FOLDER FOLDER...

Folders are those below src. Left out are tests that ask the kernel about their own process, which
qemu answers otherwise. Ends with "N passed, N failed"; status 1 where one failed.
`make test-aarch64` runs it.
"""

import re
import subprocess
import sys
from pathlib import Path

# Where Debian's cross compiler has the C library.
QEMU = ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
# Test: why qemu cannot run it.
LEFT_OUT = {
    "Temporaries.FilesOfKilledProcessesAreRemovedThoseOfLivingOnesStay": (
        "qemu answers /proc/self/stat itself, with another time of start"
    ),
}


def main():
    build, folders = Path(sys.argv[1]), sys.argv[2:]
    passed = failed = 0
    filters = "-" + ":".join(LEFT_OUT)
    for folder in folders:
        program = build / f"bin/sonde_{folder}_test"
        done = subprocess.run(
            [*QEMU, str(program), f"--gtest_filter={filters}"],
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        good = len(re.findall(r"(?m)^\[       OK \]", done.stdout))
        bad = set(re.findall(r"(?m)^\[  FAILED  \] (\w+\.\w+)", done.stdout))
        if done.returncode != 0 and not bad:
            bad = {f"{folder}: ended with status {done.returncode}"}
        if bad:
            print(done.stdout[-4000:], done.stderr[-2000:], sep="\n")
        print(f"{folder}: {good} passed, {len(bad)} failed {' '.join(sorted(bad))}", flush=True)
        passed += good
        failed += len(bad)
    for name, reason in LEFT_OUT.items():
        print(f"left out: {name}: {reason}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
