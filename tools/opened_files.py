"""Which files below some folders are opened while something runs: what that depends on.

The kernel reports (inotify) every open by whichever process, so with several things running side
by side each is given what all of them opened in its time: too much at worst, never too little. A
folder that was listed counts as opened. Paths are absolute; a compiled Python file stands for its
source. One thread of its own reads the kernel's queue; the methods may be called from any thread.
"""

import ctypes
import os
import re
import struct
import tempfile
import threading
from pathlib import Path

OPENED, CREATED, OVERFLOWED, IS_FOLDER = 0x20, 0x100, 0x4000, 0x40000000
ONLY_FOLDERS = 0x01000000
EVENT = struct.Struct("iIII")
COMPILED = re.compile(r"/__pycache__/([^/]+)\.[a-z]+-\d+[^/]*\.pyc(\.\d+)?$")

# Neither sources nor data of tests; `.git` is opened by every look at the tree.
LEFT_OUT = {".git", "node_modules", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


class Interval:
    """What was opened between begin() and end(); `complete` is false when events were lost, `alone`
    when another interval began or went on meanwhile."""

    def __init__(self):
        self.opened = set()
        self.complete = True
        self.alone = True


class OpenedFiles:
    """Watches folders with all that lie in them, except `left_out` (absolute paths)."""

    def __init__(self, folders, left_out=()):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._left_out = {str(path) for path in left_out}
        self._folder_of = {}
        self._lock = threading.Lock()
        self._active = []
        self._seen_marks = set()
        self._marked = threading.Condition(self._lock)
        self._marks = tempfile.TemporaryDirectory(prefix="sonde-opened-")
        self._next_mark = 0
        for folder in (*folders, self._marks.name):
            self._watch(str(folder))
        threading.Thread(target=self._read, daemon=True).start()

    def _watch(self, top):
        for folder, names, _ in os.walk(top):
            names[:] = [
                name
                for name in names
                if name not in LEFT_OUT and os.path.join(folder, name) not in self._left_out
            ]
            number = self._libc.inotify_add_watch(
                self._queue, os.fsencode(folder), OPENED | CREATED | ONLY_FOLDERS
            )
            if number >= 0:
                self._folder_of[number] = folder
            elif os.path.isdir(folder):
                raise OSError(ctypes.get_errno(), "inotify_add_watch", folder)

    def _read(self):
        while True:
            data = os.read(self._queue, 1 << 16)
            at = 0
            while at < len(data):
                number, mask, _, size = EVENT.unpack_from(data, at)
                name = data[at + EVENT.size : at + EVENT.size + size].rstrip(b"\0")
                at += EVENT.size + size
                self._note(number, mask, os.fsdecode(name))

    def _note(self, number, mask, name):
        if mask & OVERFLOWED:
            with self._lock:
                for interval in self._active:
                    interval.complete = False
                self._marked.notify_all()
            return
        folder = self._folder_of.get(number)
        if folder is None:
            return
        path = os.path.join(folder, name) if name else folder
        if mask & CREATED and mask & IS_FOLDER and name not in LEFT_OUT:
            self._watch(path)
        if not mask & OPENED:
            return
        path = COMPILED.sub(r"/\1.py", path)
        with self._lock:
            if folder == self._marks.name:
                self._seen_marks.add(name)
                self._marked.notify_all()
            for interval in self._active:
                interval.opened.add(path)

    def begin(self):
        """What was opened before is reported first, so that it is no part of this interval."""
        interval = Interval()
        self._pass_mark(interval)
        with self._lock:
            self._active.append(interval)
            if len(self._active) > 1:
                for one in self._active:
                    one.alone = False
        return interval

    def end(self, interval):
        """Waits for the kernel's outstanding reports; then the interval is whole."""
        seen = self._pass_mark(interval)
        with self._lock:
            self._active.remove(interval)
        interval.complete = interval.complete and seen
        return interval

    def _pass_mark(self, interval):
        """Opens a file, and waits until that is reported; false where it never is."""
        with self._lock:
            name = str(self._next_mark)
            self._next_mark += 1
        Path(self._marks.name, name).touch()
        with self._marked:
            return self._marked.wait_for(
                lambda: name in self._seen_marks or not interval.complete, timeout=30
            )
