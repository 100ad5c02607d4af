"""Installs the wheel into fresh systems, older and newer than that of the build, and uses it.

run_roots.py WHEEL [SUITE ...]

Each suite of Debian gets a root made from packages, with Python and an allocator that programs
bring, and nothing else; the commands run in it by chroot. Those of a wheel for another processor
run under qemu. Needs root and debootstrap. Prints a table, and ends with 1 when a command failed.
`make test-wheel` and `make test-aarch64` run it.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Debian 10 is the oldest that the wheel names; its packages are no longer with the others.
SUITES = ("bullseye", "bookworm", "trixie")
# The allocator of many servers, which a program brings along.
TCMALLOC = {"trixie": "libtcmalloc-minimal4t64"}
# What the kernel knows programs for 64-bit Arm by, and what starts them. It is opened when it is
# registered (F), so that roots need not have it.
QEMU = shutil.which("qemu-aarch64-static")
BINFMT = Path("/proc/sys/fs/binfmt_misc")
ARM_HEADER = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
ARM_MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin") or "chroot"
PROGRAM = "import json\nprint(json.dumps(list(range(3))))\n"
# A profile of three operators, for the readers.
TRACE = (
    '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1,'
    ' "ts": 1, "dur": 5}]}'
)
LOG = "/tmp/log"
COMMANDS = (
    ("version", "sonde --version"),
    ("licenses", f"sonde --licenses >{LOG} && grep duckdb {LOG}"),
    ("doctor", "sonde doctor || [ $? -eq 1 ]"),
    ("run", "sonde run --profile-save-path /tmp/out -- python3 /tmp/program.py"),
    ("query", 'sonde query /tmp/trace.json "SELECT count(*) AS n FROM slice"'),
    ("view", f"timeout -s INT 10 sonde view /tmp/trace.json >{LOG} 2>&1; grep http:// {LOG}"),
    ("probe", "sonde probe --help"),
    (
        "tcmalloc",
        "LD_PRELOAD=$(find /usr/lib -name 'libtcmalloc_minimal.so.4')"
        " sonde run --profile-save-path /tmp/out2 -- python3 /tmp/program.py",
    ),
    # Again over itself, then away: nothing of it stays where Python looks.
    ("upgrade", "pip install --no-index --no-deps --force-reinstall /tmp/*.whl && sonde --version"),
    (
        "uninstall",
        "pip uninstall -y sonde && ! find /venv -iname '*sonde*' | grep ."
        " && python3 /tmp/program.py",
    ),
)


@contextlib.contextmanager
def arm_programs():
    """The kernel starts programs for 64-bit Arm under qemu, as long as this lasts."""
    if QEMU is None:
        sys.exit("run_roots: needs qemu-aarch64-static (Debian: apt-get install qemu-user-static)")
    if not (BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "none", str(BINFMT)], check=True)
    ours = BINFMT / "sonde-aarch64"
    if any((BINFMT / name).exists() for name in ("qemu-aarch64", ours.name)):
        yield
        return
    (BINFMT / "register").write_text(f":{ours.name}:M::{ARM_HEADER}:{ARM_MASK}:{QEMU}:F")
    try:
        yield
    finally:
        ours.write_text("-1")


def make_root(suite, folder, architecture):
    """A minimal system with Python; returns its folder."""
    root = Path(folder) / suite
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--arch={architecture}",
        f"--include=python3,python3-venv,{TCMALLOC.get(suite, 'libtcmalloc-minimal4')}",
        suite,
        str(root),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"debootstrap could not make {suite}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return root


def inside(root, command):
    """Runs a line of shell in the root; returns its exit status and what it printed."""
    environment = {"PATH": "/venv/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [CHROOT, str(root), "/bin/sh", "-c", command],
        capture_output=True, text=True, check=False, env=environment, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def use(root, wheel):
    """Installs the wheel and runs the commands; returns (name, status, output) of each."""
    shutil.copy(wheel, root / "tmp")
    (root / "tmp/program.py").write_text(PROGRAM)
    (root / "tmp/trace.json").write_text(TRACE)
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        results = []
        steps = (
            ("glibc", "ldd --version | head -1"),
            ("python", "python3 --version"),
            (
                "install",
                f"python3 -m venv /venv && pip install --no-index --no-deps /tmp/{wheel.name}",
            ),
            *COMMANDS,
        )
        for name, command in steps:
            status, text = inside(root, command)
            results.append((name, status, text))
        return results
    finally:
        subprocess.run(["umount", "-l", str(root / "proc")], check=False)


def try_suite(suite, wheel, architecture):
    """Prints a line a command; returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, status, text in use(make_root(suite, folder, architecture), wheel):
            first = text.strip().splitlines()[0] if text.strip() else ""
            outcome = "ok" if status == 0 else f"FAILED ({status})"
            print(f"{suite:<10} {name:<9} {outcome:<12} {first}", flush=True)
            if status != 0:
                failed += 1
                print("\n".join(f"    {line}" for line in text.splitlines()[-15:]))
    return failed


def main():
    wheel = Path(sys.argv[1]).resolve()
    suites = sys.argv[2:] or SUITES
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("run_roots: needs root and debootstrap (Debian: apt-get install debootstrap)")
    is_arm = wheel.stem.endswith("aarch64")
    with arm_programs() if is_arm else contextlib.nullcontext():
        failed = sum(try_suite(suite, wheel, "arm64" if is_arm else "amd64") for suite in suites)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
