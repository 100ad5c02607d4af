"""Records a small program through the C interface: argv is the library and the folder."""

import ctypes
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from sonde._native import _SessionConfig as Config  # noqa: E402

FEATURES = 0x7F


class MemoryEvent(ctypes.Structure):
    """sonde_memory_event."""

    _fields_ = [
        ("pointer", ctypes.c_uint64),
        ("size_bytes", ctypes.c_int64),
        ("total_allocated", ctypes.c_int64),
        ("total_reserved", ctypes.c_int64),
        ("total_active", ctypes.c_int64),
        ("stream", ctypes.c_uint64),
        ("device_type", ctypes.c_uint8),
        ("device_index", ctypes.c_uint8),
    ]


def work(recorder, number):
    """Nested ranges, marks, counters, memory and a span, 300 rounds."""
    names = [recorder.sonde_intern(text, len(text)) for text in (b"outer", b"in\xc3\xa4ner", b"n")]
    for i in range(300):
        recorder.sonde_range_push(names[0], 0)
        for j in range(i % 4):
            recorder.sonde_range_push(names[1], 0)
            event = MemoryEvent(number << 40 | i << 8 | j, 64, 64 * i, -1, -1, 0, 0, 0)
            recorder.sonde_memory(ctypes.byref(event))
            recorder.sonde_range_pop()
        if i % 10 == 0:
            recorder.sonde_mark(names[2], 0, 0)
            recorder.sonde_counter(names[2], 0, ctypes.c_double(i / 8))
            recorder.sonde_range_end(ctypes.c_uint64(recorder.sonde_range_start(names[2], 0, 0)))
        recorder.sonde_range_pop()


def main():
    recorder = ctypes.CDLL(sys.argv[1])
    recorder.sonde_range_start.restype = ctypes.c_uint64
    config = Config(struct_size=ctypes.sizeof(Config), features=FEATURES)
    config.directory = sys.argv[2].encode()
    config.folder = b"small_ascend_pt"
    assert recorder.sonde_session_start(ctypes.byref(config)) == 0
    other = threading.Thread(target=work, args=(recorder, 2))
    other.start()
    work(recorder, 1)
    other.join()
    assert recorder.sonde_session_stop(None, ctypes.c_size_t(0)) == 0


if __name__ == "__main__":
    main()
