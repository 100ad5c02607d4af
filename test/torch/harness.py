"""The adapter and the recorder through ctypes, as python/sonde uses them, for tests and benches.

SONDE_LIBRARIES names the folder of the two libraries; else build/<preset>/lib of this clone.
"""

import ctypes
import json
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import capture_reader
import torch  # noqa: F401  (the adapter attaches to a torch that is loaded)

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

from sonde import _native  # noqa: E402  (the C structures, as the package declares them)
from sonde._native import FEATURE_MARKERS as MARKERS  # noqa: E402, F401
from sonde._native import FEATURE_MEMORY as MEMORY  # noqa: E402, F401
from sonde._native import FEATURE_MODULES as MODULES  # noqa: E402, F401
from sonde._native import FEATURE_OPS as OPS  # noqa: E402, F401
from sonde._native import FEATURE_RECORDING as RECORDING  # noqa: E402
from sonde._native import FEATURE_SHAPES as SHAPES  # noqa: E402, F401
from sonde._native import FEATURE_STACKS as STACKS  # noqa: E402, F401


def library_folder():
    given = os.environ.get("SONDE_LIBRARIES")
    if given:
        return Path(given)
    presets = [os.environ.get("PRESET"), "dev", "release"]
    for preset in filter(None, presets):
        folder = ROOT / "build" / preset / "lib"
        if (folder / "libsonde_torch.so").exists():
            return folder
    raise RuntimeError("libsonde_torch.so is not built (make build)")


recorder = ctypes.CDLL(str(library_folder() / "libsonde_record.so"))
adapter = ctypes.PyDLL(str(library_folder() / "libsonde_torch.so"))
recorder.sonde_last_error.restype = ctypes.c_char_p
adapter.sonde_torch_last_error.restype = ctypes.c_char_p


def attach():
    code = adapter.sonde_torch_attach(None)
    assert code == 0, adapter.sonde_torch_last_error()


def self_test():
    buffer = ctypes.create_string_buffer(1 << 16)
    assert adapter.sonde_torch_self_test(buffer, len(buffer)) > 0
    return json.loads(buffer.value)


def start(features, directory, options=None, ring_slots=1 << 17):
    """Starts a session; the structure is kept by the recorder only during the call."""
    config = _native._SessionConfig()
    config.struct_size = ctypes.sizeof(config)
    config.features = RECORDING | features
    config.directory = os.fsencode(directory)
    config.ring_slots = ring_slots
    config.options = json.dumps(options).encode() if options else None
    code = recorder.sonde_session_start(ctypes.byref(config))
    assert code == 0, recorder.sonde_last_error()


def stop():
    path = ctypes.create_string_buffer(4096)
    code = recorder.sonde_session_stop(path, len(path))
    assert code == 0, recorder.sonde_last_error()
    return path.value.decode()


def dropped():
    """Records dropped so far in the session that runs."""
    status = _native.SessionStatus(struct_size=ctypes.sizeof(_native.SessionStatus))
    assert recorder.sonde_session_get_status(ctypes.byref(status)) == 0
    return status.dropped


class Session:
    """What `record` yields; `capture` is there after the block."""

    capture = None


@contextmanager
def record(features=OPS, options=None):
    """Records the block and reads the capture back."""
    session = Session()
    with tempfile.TemporaryDirectory(prefix="sonde-torch-") as folder:
        start(features, folder, options)
        try:
            yield session
        finally:
            path = stop()
        session.capture = capture_reader.read(path)
