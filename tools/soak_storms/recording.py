"""A program that records ranges without end and counts them in a file that outlives it.

python3 -m soak_storms.recording FOLDER PROGRESS    (PROGRESS: a file of 16 zero bytes)

The first number of PROGRESS is how many ranges were made while the session recorded, the second is
1 once an error has ended the session (a full disk).
"""

import ctypes
import mmap
import signal
import subprocess
import sys
import time

from soak_storms.ground import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
from sonde._native import SessionStatus, _SessionConfig  # noqa: E402 - its folder is known now

BATCH = 50
RECORDING, ENDED_BY_ERROR = 2, 3
REFUSED = 9  # exit status where no session could be started
ROWS = (
    "SELECT (SELECT count(*) FROM slice WHERE name = 'range'), "
    "(SELECT coalesce(sum(count), 0)::BIGINT FROM import_issue WHERE code = 'records_dropped'), "
    "(SELECT count(*) FROM import_issue WHERE code = 'recording_ended'), "
    # Where the disk has no room for a thread's ring, a kill takes what is in its memory.
    "(SELECT count(*) FROM import_issue WHERE advice LIKE '%not backed by a file%')"
)


def record(folder, progress_path):
    recorder = ctypes.CDLL(str(BUILD / "lib" / "libsonde_record.so"))
    config = _SessionConfig(struct_size=ctypes.sizeof(_SessionConfig), features=0x7F)
    config.directory, config.folder = str(folder).encode(), b"soak_ascend_pt"
    if recorder.sonde_session_start(ctypes.byref(config)) != 0:
        sys.exit(REFUSED)
    name = recorder.sonde_intern(b"range", ctypes.c_size_t(5))
    status = SessionStatus(struct_size=ctypes.sizeof(SessionStatus))
    with open(progress_path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 16)
        made = ctypes.c_uint64.from_buffer(page)
        has_failed = ctypes.c_uint64.from_buffer(page, 8)
        while not has_failed.value:
            for _ in range(BATCH):
                recorder.sonde_range_push(name, 0)
                recorder.sonde_range_pop()
            recorder.sonde_session_get_status(ctypes.byref(status))
            if status.state == RECORDING:
                made.value += BATCH
            else:
                has_failed.value = status.state == ENDED_BY_ERROR
            time.sleep(0.0005)
    time.sleep(60)  # until it is killed


class Program:
    """Of :func:`record`, with its capture in a new folder and its count in another."""

    def __init__(self, folder, progress):
        folder.mkdir()
        self.span, self.progress = folder / "soak_ascend_pt", progress
        progress.write_bytes(bytes(16))
        words = [sys.executable, "-m", "soak_storms.recording", folder, progress]
        self.process = subprocess.Popen([str(word) for word in words], cwd=ROOT / "tools")

    def seen(self):
        """(ranges made, whether an error ended the session)"""
        data = self.progress.read_bytes()
        return int.from_bytes(data[:8], "little"), data[8] == 1

    def kill(self, report, may_refuse=False):
        """It should be alive; `may_refuse`: or have ended because there was no room to begin."""
        status = self.process.poll()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        report.add(kills=1, crashes=status is not None and not (may_refuse and status == REFUSED))


if __name__ == "__main__":
    record(*sys.argv[1:])
