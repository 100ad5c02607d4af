"""Which files below some folders are opened while something runs: what that depends on.

The kernel asks (fanotify) before every open, by whichever process, and says which: each of several
things that run side by side is given what its own processes opened, and a folder that was listed
counts as opened. Whose a process is says its mount namespace, which it keeps whatever becomes of
its parents, session and environment. Who opens waits until that is written down, so nothing is
missed. That needs root.

OpenedFiles may be used from any thread; begin() and what is started are the same thread's. Paths
are absolute; a compiled Python file stands for its source. As a program this file is the process
that answers the kernel; it ends with its standard input.
"""

import contextlib
import ctypes
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

# Of linux/fanotify.h and linux/sched.h.
ASKED, CLOSED_IN_PROGRAMS, UNLIMITED, LARGE_FILES = 0x4, 0x1, 0x30, 0o100000
ADD, OPENS, FOLDERS_TOO, INSIDE = 0x1, 0x10000, 0x40000000, 0x08000000
ALLOWED = 1
EVENT = struct.Struct("=IBBHQii")
ANSWER = struct.Struct("=iI")
HERE = -100
NEW_MOUNTS = 0x20000

COMPILED = re.compile(r"/__pycache__/([^/]+)\.[a-z]+-\d+[^/]*\.pyc(\.\d+)?$")

# Neither sources nor data of tests; `.git` is opened by every look at the tree.
LEFT_OUT = {".git", "node_modules", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


class Interval:
    """What was opened between begin() and end(); `complete` is false when some of it is unknown."""

    def __init__(self):
        self.opened = set()
        self.complete = True


class OpenedFiles:
    """Watches folders with all that lie in them, except `left_out` (absolute paths)."""

    def __init__(self, folders, left_out=()):
        self._lines = tempfile.NamedTemporaryFile(prefix="sonde-opened-")
        watched = [str(folder) for top in folders for folder in _folders(top, set(left_out))]
        self._answers = subprocess.Popen(
            [sys.executable, "-IS", __file__, self._lines.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._answers.stdin.write("\0".join(watched).encode() + b"\n")
        self._answers.stdin.flush()
        if self._answers.stdout.readline() != b"ready\n":
            raise OSError("the kernel does not report who opens files: that needs root")
        self._lock = threading.Lock()
        self._elsewhere = {_namespace("self")}  # other programs of this machine
        self._active = {}

    def close(self):
        self._answers.communicate()

    def begin(self):
        """Of what the calling thread starts from now on."""
        if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNTS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        interval = Interval()
        with self._lock:
            self._read()
            self._elsewhere.discard(_namespace("thread-self"))
            self._active[_namespace("thread-self")] = interval
        return interval

    def end(self, interval):
        """After the last process of what was started has ended."""
        with self._lock:
            self._read()
            (own,) = (name for name, one in self._active.items() if one is interval)
            del self._active[own]
            self._elsewhere.add(own)
        interval.complete = self._answers.poll() is None
        return interval

    def _read(self):
        """Opens by processes of namespaces that tests have made themselves are everybody's."""
        for line in self._lines.read().decode(errors="surrogateescape").split("\0")[:-1]:
            namespace, path = line.split(" ", 1)
            path = COMPILED.sub(r"/\1.py", path)
            if namespace in self._active:
                self._active[namespace].opened.add(path)
            elif namespace not in self._elsewhere:
                for interval in self._active.values():
                    interval.opened.add(path)


def is_possible():
    """Whether this process may see who opens files; tried in another one, which it changes."""
    tried = os.fork()
    if tried == 0:
        libc = ctypes.CDLL(None)
        group = libc.fanotify_init(ASKED | CLOSED_IN_PROGRAMS | UNLIMITED, os.O_RDONLY)
        os._exit(group < 0 or libc.unshare(NEW_MOUNTS) != 0)
    return os.waitpid(tried, 0)[1] == 0


def _namespace(process):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{process}/ns/mnt")
    return "unknown"


def _folders(top, left_out):
    for folder, names, _ in os.walk(top):
        inside = (name for name in names if name not in LEFT_OUT)
        names[:] = [name for name in inside if Path(folder, name) not in left_out]
        yield folder


def answer(lines, folders):
    """Writes down and allows every open, for as long as standard input is open."""
    libc = ctypes.CDLL(None, use_errno=True)
    group = libc.fanotify_init(
        ASKED | CLOSED_IN_PROGRAMS | UNLIMITED, os.O_RDONLY | os.O_CLOEXEC | LARGE_FILES
    )
    for folder in folders if group >= 0 else ():
        mask = ctypes.c_uint64(OPENS | FOLDERS_TOO | INSIDE)
        if libc.fanotify_mark(group, ADD, mask, HERE, folder) != 0 and os.path.isdir(folder):
            group = -1
    print("ready" if group >= 0 else "refused", flush=True)
    while (
        group >= 0 and sys.stdin.buffer not in select.select([group, sys.stdin.buffer], [], [])[0]
    ):
        events, at = os.read(group, 1 << 16), 0
        while at < len(events):
            size, *_, file, process = EVENT.unpack_from(events, at)
            at += size
            path = os.readlink(f"/proc/self/fd/{file}")
            lines.write(f"{_namespace(process)} {path}\0".encode(errors="surrogateescape"))
            os.write(group, ANSWER.pack(file, ALLOWED))
            os.close(file)


if __name__ == "__main__":
    watched = sys.stdin.buffer.readline()[:-1].split(b"\0")
    with open(sys.argv[1], "ab", buffering=0) as file:
        answer(file, watched)
