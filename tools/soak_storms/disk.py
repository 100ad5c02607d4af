"""A small disk that fills while a program records there and an analysis writes there, and is
emptied again: each capture has all ranges, or counts them as dropped, or reports that the disk
ended it."""

import os
import shutil
import subprocess
import time
from contextlib import suppress

from soak_storms.recording import ROWS, Program

SIZE = 48 << 20


def mount(folder):
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "sonde_soak", folder]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def fill(disk, left):
    stat = os.statvfs(disk)
    room = stat.f_bavail * stat.f_frsize - left
    if room > 0:
        with open(disk / "other", "wb") as file, suppress(OSError):  # others take room meanwhile
            os.posix_fallocate(file.fileno(), 0, room)


def record(ground, disk, folder):
    program = Program(folder, ground.folder / f"{folder.name}.progress")
    time.sleep(ground.random.uniform(0.3, 1))
    fill(disk, ground.random.choice((0, 4096, 100_000, 2_000_000)))
    end = time.monotonic() + ground.random.uniform(0.5, 4)
    while time.monotonic() < end and not program.seen()[1]:
        time.sleep(0.05)
    program.kill(ground.report, may_refuse=True)
    return program


def check(ground, disk, program):
    """While the disk is full, then when it is empty again."""
    made, has_failed = program.seen()
    if not (program.span / "SONDE").exists():
        return
    ground.command("analyse", program.span)  # as far as there is room; it must not crash or hang
    (disk / "other").unlink(missing_ok=True)
    status = ground.command("analyse", program.span)[0]
    rows, dropped, ended, in_memory = ground.numbers(program.span, ROWS) or (0, 0, 0, 0)
    # What was made between the end of the disk and the program's next look is reported, not
    # counted; so is what lay in memory when the program was killed.
    is_reported = (has_failed and ended) or in_memory
    lost = 0 if is_reported else max(0, made - rows - dropped)
    ground.report.add(captures=1, ranges=rows, dropped=dropped, lost=lost, full_disks=has_failed)
    # Such a small disk has no room for the deliverables of a long recording.
    if lost or (has_failed and not ended) or (status != 0 and rows == 0 and made > 0):
        ground.report.add(crashes=has_failed and not ended)
        ground.log("disk", f"{program.span}: made {made}, rows {rows}, dropped {dropped}, "
                           f"failed {has_failed}, reported {ended}, status {status}")  # fmt: skip


def rage(ground):
    disk = ground.folder / "disk"
    if not mount(disk):
        ground.report.show(disk="left out: needs root, others cannot mount a file system")
        return
    number = 0
    try:
        while not ground.is_over():
            number += 1
            folder = disk / f"run{number}"
            check(ground, disk, record(ground, disk, folder))
            (disk / "other").unlink(missing_ok=True)
            shutil.rmtree(folder)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=False)
