"""Installs the wheel into fresh systems, older and newer than that of the build, and uses it.

run_roots.py WHEEL [SUITE ...]

Each suite of Debian and Ubuntu gets a root made from packages, with Python and an allocator that
programs bring, and nothing else; the commands run in it by chroot. Those of a wheel for another
processor run under qemu, and only Debian's have packages for it here. Needs root and debootstrap.
Prints a table, and ends with 1 when a command failed. `make test-wheel` and `make test-aarch64`
run it.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import NamedTuple

# What a root is made of, beside Python: an allocator that programs bring along.
OLD_TCMALLOC, TCMALLOC = "libtcmalloc-minimal4", "libtcmalloc-minimal4t64"
DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
# Debian has no keys of Ubuntu's: they come from Ubuntu's own package, which is pinned here.
UBUNTU_KEYS = f"{UBUNTU}/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
UBUNTU_KEYS_SHA256 = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"


class System(NamedTuple):
    """A system by the name of its suite, and where it comes from."""

    suite: str
    allocator: str
    mirror: str
    script: str  # debootstrap's; newer suites than the host have none of their own


# One for each Python from 3.9 to 3.14. Their glibc: 2.31 (bullseye) to 2.43. Debian 10, which has
# 2.28, is no longer with the others.
SYSTEMS = (
    System("bullseye", OLD_TCMALLOC, DEBIAN, "bullseye"),
    System("bookworm", OLD_TCMALLOC, DEBIAN, "bookworm"),
    System("trixie", TCMALLOC, DEBIAN, "trixie"),
    System("forky", TCMALLOC, DEBIAN, "sid"),
    System("jammy", OLD_TCMALLOC, UBUNTU, "jammy"),
    System("noble", TCMALLOC, UBUNTU, "gutsy"),
    System("resolute", TCMALLOC, UBUNTU, "gutsy"),
)
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
# Opens the page as a browser does: the address that the command prints, then its first file.
PAGE = """
import re, signal, subprocess, urllib.request
view = subprocess.Popen(["sonde", "view", "/tmp/trace.json"], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True)
try:
    for line in view.stdout:
        address = re.search(r"http://\\S+", line)
        if address:
            page = urllib.request.urlopen(address[0], timeout=20).read().decode()
            assert "<html" in page and "script" in page, page[:300]
            print(address[0], len(page), "characters")
            break
    else:
        raise SystemExit("no address was printed")
finally:
    view.send_signal(signal.SIGINT)
    view.wait(20)
"""
LOG = "/tmp/log"
COMMANDS = (
    ("version", "sonde --version"),
    ("licenses", f"sonde --licenses >{LOG} && grep duckdb {LOG}"),
    ("doctor", "sonde doctor || [ $? -eq 1 ]"),
    ("run", "sonde run --profile-save-path /tmp/out -- python3 /tmp/program.py"),
    ("query", 'sonde query /tmp/trace.json "SELECT count(*) AS n FROM slice"'),
    ("view", "python3 /tmp/page.py"),
    ("probe", "sonde probe --help"),
    (
        "tcmalloc",
        "LD_PRELOAD=$(find /usr/lib -name 'libtcmalloc_minimal.so.4')"
        " sonde run --profile-save-path /tmp/out2 -- python3 /tmp/program.py",
    ),
    (
        "libstdc++",
        "LD_PRELOAD=$(find /usr/lib -name 'libstdc++.so.6')"
        " sonde run --profile-save-path /tmp/out3 -- python3 /tmp/program.py",
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


def ubuntu_keyring(folder):
    """The file with Ubuntu's keys, of the pinned package."""
    package = Path(folder) / "keyring.deb"
    with urllib.request.urlopen(UBUNTU_KEYS, timeout=60) as answer:
        package.write_bytes(answer.read())
    if hashlib.sha256(package.read_bytes()).hexdigest() != UBUNTU_KEYS_SHA256:
        sys.exit("run_roots: Ubuntu's keys are not the pinned ones")
    subprocess.run(["dpkg-deb", "--extract", package, Path(folder) / "keyring"], check=True)
    return Path(folder) / "keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def make_root(system, folder, architecture):
    """A minimal system with Python; returns its folder."""
    root = Path(folder) / system.suite
    keyring = [f"--keyring={ubuntu_keyring(folder)}"] if system.mirror == UBUNTU else []
    components = ["--components=main,universe"] if system.mirror == UBUNTU else []
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--arch={architecture}",
        f"--include=python3,python3-venv,{system.allocator}",
        *keyring,
        *components,
        system.suite,
        str(root),
        system.mirror,
        f"/usr/share/debootstrap/scripts/{system.script}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log = root / "debootstrap/debootstrap.log"
        details = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        sys.exit(f"debootstrap could not make {system.suite}:\n{done.stdout[-2000:]}{details}")
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
    (root / "tmp/page.py").write_text(PAGE)
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        results = []
        steps = (
            ("glibc", "ldd --version | head -1"),
            ("python", "python3 -m venv /venv && python3 --version"),
            ("install", f"pip install --no-index --no-deps /tmp/{wheel.name}"),
            *COMMANDS,
        )
        for name, command in steps:
            status, text = inside(root, command)
            results.append((name, status, text))
        return results
    finally:
        subprocess.run(["umount", "-l", str(root / "proc")], check=False)


def try_system(system, wheel, architecture):
    """Prints a line a command; returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, status, text in use(make_root(system, folder, architecture), wheel):
            first = text.strip().splitlines()[0] if text.strip() else ""
            outcome = "ok" if status == 0 else f"FAILED ({status})"
            print(f"{system.suite:<10} {name:<9} {outcome:<12} {first}", flush=True)
            if status != 0:
                failed += 1
                print("\n".join(f"    {line}" for line in text.splitlines()[-15:]))
    return failed


def main():
    wheel = Path(sys.argv[1]).resolve()
    is_arm = wheel.stem.endswith("aarch64")
    wanted = sys.argv[2:] or [s.suite for s in SYSTEMS if not is_arm or s.mirror == DEBIAN]
    unknown = set(wanted) - {system.suite for system in SYSTEMS}
    if unknown:
        sys.exit(f"run_roots: no system is called {', '.join(sorted(unknown))}")
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("run_roots: needs root and debootstrap (Debian: apt-get install debootstrap)")
    systems = [system for system in SYSTEMS if system.suite in wanted]
    with arm_programs() if is_arm else contextlib.nullcontext():
        failed = sum(try_system(s, wheel, "arm64" if is_arm else "amd64") for s in systems)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
