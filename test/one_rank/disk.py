"""What goes wrong around a server's captures costs lines in its log, never an answer."""

import contextlib
import shutil
import subprocess
import time

import pytest
from watched import await_line, printed

TOKENS = 6


@contextlib.contextmanager
def small_disk_at(folder):
    """A file system of two megabytes lies on the folder; what is in that comes back at the end."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "sonde_test", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root: others cannot mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def remount_read_only(disk):
    """As soon as nothing writes there: what parses the capture finds by itself that it cannot."""
    end = time.monotonic() + 60
    while subprocess.run(["mount", "-o", "remount,ro", disk], check=False).returncode != 0:
        assert time.monotonic() < end, "a file on the full disk stays open"
        time.sleep(0.2)


def profiled_text(server, tokens):
    """Of a session, whose captures may be lost."""
    assert server.profile("start")[0] == 200
    text = server.ask("import ", tokens)
    assert server.profile("stop")[0] == 200
    return text


def test_a_full_disk_and_one_that_cannot_be_written(server, sonde, tmp_path, rows):
    text = server.ask("import ", 300)
    with small_disk_at(server.profiles) as disk:
        assert profiled_text(server, 300) == text
        await_line(server, "No space left on device")
        # What has been written can be read on another disk.
        kept = tmp_path / "kept"
        shutil.copytree(next(disk.glob("rank0_*_ascend_pt")), kept / "rank0_1_2_ascend_pt")
        done = subprocess.run([sonde, "analyse", kept], capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        # How many steps there was room for depends on how far the recorder was behind.
        assert rows(kept, "SELECT count(*) AS n FROM step")[0]["n"] > 0
        assert rows(kept, "SELECT count(*) AS n FROM slice")[0]["n"] > 100

        (session,) = disk.glob("server_*")
        await_line(server, f"served: {session}")  # then nothing is added to the folder any more
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        remount_read_only(disk)
        assert profiled_text(server, TOKENS) == server.ask("import ", TOKENS)
        await_line(server, "Read-only file system")
        assert "not parsed" not in printed(server)

        subprocess.run(["mount", "-o", "remount,rw,size=200m", disk], check=True)
        profiled_text(server, TOKENS)
        (session,) = disk.glob("server_*")
        await_line(server, f"served: {session}")
        assert rows(session, "SELECT count(*) AS n FROM request WHERE is_whole = 1")[0]["n"] == 1
