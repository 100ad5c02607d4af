"""Makes the wheel of a build that is complete, with notices inside and a list of parts beside it.

wheel.py BUILD_FOLDER OUT_FOLDER

Nothing is compiled: the build keeps its settings. The wheel's platform is the oldest C library that
its files need, by the versions of the symbols they take; it is refused when that is newer than what
the build was linked for. Files carry the time of the commit, so that one commit gives one wheel.
`make wheel` runs it.
"""

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What PEP 600 allows a wheel to take of the machine.
SYSTEM_LIBRARIES = {
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
    "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}  # fmt: skip
# A wheel is loaded on each host of a job.
LARGEST = 40_000_000


def output(*command, **options):
    """What the command prints; ends the program with its error when it fails."""
    done = subprocess.run(
        [str(w) for w in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def setting(build, name, default=None):
    """The value of a variable in the build's CMake cache."""
    values = re.findall(rf"(?m)^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text())
    return values[0] if values or default is None else default


def processor(program):
    """The processor that an ELF file is for, as `uname -m` names it."""
    machine = int.from_bytes(program.read_bytes()[18:20], "little")
    return {62: "x86_64", 183: "aarch64"}[machine]


def commit_time():
    """Seconds of the last commit, so that times in the wheel do not depend on the day."""
    done = subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "315532800"


def raw_wheel(build, folder):
    """The wheel as pip makes it of the build, for this machine."""
    settings = (
        f"build-dir={build}",
        f"cmake.build-type={setting(build, 'CMAKE_BUILD_TYPE')}",
        f"cmake.define.SONDE_BUILD_TESTS={setting(build, 'SONDE_BUILD_TESTS')}",
        f"cmake.define.SONDE_PORTABLE={setting(build, 'SONDE_PORTABLE')}",
    )
    toolchain = setting(build, "CMAKE_TOOLCHAIN_FILE", default="")
    if toolchain:
        settings += (f"cmake.define.CMAKE_TOOLCHAIN_FILE={toolchain}",)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    flags = ("--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    settings = [f"--config-settings={setting}" for setting in settings]
    output(*pip, *flags, *settings, ROOT, env={**os.environ, "SOURCE_DATE_EPOCH": commit_time()})
    (wheel,) = Path(folder).glob("sonde-*.whl")
    return wheel


def needed_glibc(files):
    """The newest version of the C library that a file takes a symbol of, as (major, minor)."""
    newest = (2, 17)
    for file in files:
        text = output("readelf", "--wide", "--dynamic", "--version-info", file)
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text):
            newest = max(newest, (int(major), int(minor)))
        names = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        foreign = {n for n in names - SYSTEM_LIBRARIES if not any(f.name == n for f in files)}
        if foreign:
            sys.exit(f"{file.name} needs {', '.join(sorted(foreign))}, which the wheel lacks")
    return newest


def elf_files(folder):
    """Programs and libraries below the folder."""
    files = [f for f in sorted(Path(folder).rglob("*")) if f.is_file()]
    return [f for f in files if f.open("rb").read(4) == b"\x7fELF"]


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return (name, f"sha256={digest}", str(len(data)))


def retag(wheel, platform, out):
    """A copy of the wheel under the platform's tag, in RECORD and WHEEL, too."""
    target = out / re.sub(r"linux_\w+(?=\.whl$)", platform, wheel.name)
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as copy,
    ):
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith(".dist-info/WHEEL"):
                data = re.sub(rb"(?m)^(Tag: py3-none-)\S+", rb"\1" + platform.encode(), data)
            if entry.filename.endswith(".dist-info/RECORD"):
                writer.writerow((entry.filename, "", ""))
                data = lines.getvalue().encode()
            else:
                writer.writerow(record_line(entry.filename, data))
            entry.compress_type = zipfile.ZIP_DEFLATED
            copy.writestr(entry, data)
    return target


def main():
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    cpu = processor(build / "bin/sonde")
    for old in out.glob(f"sonde-*{cpu}*"):
        old.unlink()
    materials = out / "sonde.cdx.json"
    print(
        output(
            sys.executable, ROOT / "tools/licenses.py", build, build / "licenses", materials
        ).strip()
    )
    with tempfile.TemporaryDirectory() as folder:
        wheel = raw_wheel(build, folder)
        unpacked = Path(folder) / "unpacked"
        zipfile.ZipFile(wheel).extractall(unpacked)
        major, minor = needed_glibc(elf_files(unpacked))
        is_portable = setting(build, "SONDE_PORTABLE") == "ON"
        if is_portable and (major, minor) > (2, 28):
            sys.exit(f"a file of the wheel needs glibc {major}.{minor}; it was to run with 2.28")
        made = retag(wheel, f"manylinux_{major}_{minor}_{cpu}", out)
    if is_portable and made.stat().st_size > LARGEST:
        sys.exit(f"{made} has {made.stat().st_size} bytes, more than {LARGEST}")
    materials.rename(out / f"{made.stem}.cdx.json")
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB, for glibc {major}.{minor} and newer")


if __name__ == "__main__":
    main()
