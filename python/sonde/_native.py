"""Bindings of the native recorder and helpers to find Sonde's files.

The recorder (``libsonde_record.so``, interface in ``include/sonde/sonde.h``) is opened on first
use by ``recorder()``. Nothing here imports torch or anything outside the standard library.

Threads: every function may be called from any thread. Errors: ``NativeError`` with one line that
a user understands. Times are nanoseconds, sizes bytes.
"""

import ctypes
import os
import threading
from typing import Any, Callable, Optional

FEATURE_RECORDING = 1 << 0
FEATURE_SHAPES = 1 << 1
FEATURE_STACKS = 1 << 2
FEATURE_MEMORY = 1 << 3
FEATURE_MODULES = 1 << 4
FEATURE_OPS = 1 << 5
FEATURE_MARKERS = 1 << 6

STATE_IDLE, STATE_PREPARED, STATE_RECORDING, STATE_FAILED = range(4)

# Of argument sets: src/capture/args.h.
_ARGS_INPUTS, _INPUT_TENSOR = 7, 1

_MAX_NAMES = 1 << 16  # remembered here; the recorder knows more

RECORDER_LIBRARY = "libsonde_record.so"
ADAPTER_LIBRARY = "libsonde_torch.so"

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_BUILD_PRESETS = ("release", "dev")


class NativeError(RuntimeError):
    """The native part cannot do its job; the text is one line for people."""


class _SessionConfig(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("features", ctypes.c_uint32),
        ("directory", ctypes.c_char_p),
        ("worker_name", ctypes.c_char_p),
        ("folder", ctypes.c_char_p),
        ("domain_include", ctypes.c_char_p),
        ("domain_exclude", ctypes.c_char_p),
        ("ring_slots", ctypes.c_uint32),
        ("keep_last_seconds", ctypes.c_uint32),
        ("max_bytes", ctypes.c_uint64),
        ("options", ctypes.c_char_p),
        ("span_suffix", ctypes.c_char_p),
    ]


EVENT_PREPARE, EVENT_START, EVENT_STOP, EVENT_FORK_CHILD = range(1, 5)
_LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(_SessionConfig), ctypes.c_void_p)
_ROUTE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)


class SessionStatus(ctypes.Structure):
    """State of the recorder: see ``sonde_session_status`` in sonde.h."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("session_number", ctypes.c_uint64),
        ("records", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("step", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
    ]


class Schedule(ctypes.Structure):
    """Numbers of a profiler schedule, in steps: see ``sonde_schedule`` in sonde.h."""

    _fields_ = [
        (name, ctypes.c_int32)
        for name in ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    ]


class _ArgsBuilder(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("overflowed", ctypes.c_uint32),
        ("bytes", ctypes.c_ubyte * 2048),
    ]


_U32, _U64, _TEXT = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
_CONFIG = ctypes.POINTER(_SessionConfig)
_ARGS = ctypes.POINTER(_ArgsBuilder)
# Result and arguments of what returns at once; called with the interpreter's lock held.
_FAST_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sonde_intern": (_U32, [_TEXT, ctypes.c_size_t]),
    "sonde_domain_create": (_U32, [_TEXT]),
    "sonde_range_push": (None, [_U32, _U32]),
    "sonde_range_push_text": (None, [_TEXT, ctypes.c_size_t, _U32]),
    "sonde_range_pop": (None, []),
    "sonde_range_start": (_U64, [_U32, _U32, _U32]),
    "sonde_range_start_text": (_U64, [_TEXT, ctypes.c_size_t, _U32]),
    "sonde_range_end": (None, [_U64]),
    "sonde_mark": (None, [_U32, _U32, _U32]),
    "sonde_mark_text": (None, [_TEXT, ctypes.c_size_t, _U32]),
    "sonde_counter": (None, [_U32, _U32, ctypes.c_double]),
    "sonde_flow_out": (None, [_U32, _U64]),
    "sonde_flow_in": (None, [_U32, _U64]),
    "sonde_args_init": (None, [_ARGS]),
    "sonde_args_int": (None, [_ARGS, _U32, ctypes.c_int64]),
    "sonde_args_double": (None, [_ARGS, _U32, ctypes.c_double]),
    "sonde_args_text": (None, [_ARGS, _U32, _TEXT, ctypes.c_size_t]),
    "sonde_args_field": (None, [_ARGS, _U32, ctypes.c_uint16, _TEXT, ctypes.c_size_t]),
    "sonde_args_intern": (_U32, [_ARGS]),
    "sonde_args_once": (_U32, [_ARGS]),
    "sonde_thread_name": (None, [_TEXT]),
    "sonde_step": (None, [ctypes.c_int64]),
    "sonde_processor_use": (None, []),
    "sonde_schedule_action": (
        ctypes.c_int,
        [ctypes.POINTER(Schedule), ctypes.c_int64],
    ),
    "sonde_schedule_transition": (
        _U64,
        [ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int)],
    ),
    "sonde_last_error": (_TEXT, []),
    "sonde_version": (_TEXT, []),
    "sonde_session_path": (_TEXT, []),
}
# Of what may wait for a file or another thread; called without that lock.
_SLOW_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sonde_metadata": (ctypes.c_int, [_TEXT, _TEXT]),
    "sonde_report_issue": (None, [_TEXT]),
    "sonde_session_prepare": (ctypes.c_int, [_CONFIG]),
    "sonde_session_start": (ctypes.c_int, [_CONFIG]),
    "sonde_session_stop": (ctypes.c_int, [_TEXT, ctypes.c_size_t]),
    "sonde_session_discard": (ctypes.c_int, []),
    "sonde_session_get_status": (ctypes.c_int, [ctypes.POINTER(SessionStatus)]),
    "sonde_control_listen": (ctypes.c_int, [_TEXT, _CONFIG]),
    "sonde_control_address": (ctypes.c_int, [_TEXT, ctypes.c_size_t]),
    "sonde_control_route": (ctypes.c_int, [_TEXT, _ROUTE, ctypes.c_void_p]),
    "sonde_dynamic_watch": (ctypes.c_int, [_TEXT, _CONFIG]),
    "sonde_dynamic_step": (None, [ctypes.c_int64]),
    "sonde_add_session_listener": (ctypes.c_int, [_LISTENER, ctypes.c_void_p]),
}


class SessionConfig:
    """Where and what one session records; unset fields take the recorder's defaults.

    ``options`` are settings that only adapters understand.

    The bytes that the C structure points to live as long as this object.
    """

    def __init__(
        self,
        features: int = 0,
        directory: Optional[str] = None,
        worker_name: Optional[str] = None,
        domain_include: Optional[list[str]] = None,
        domain_exclude: Optional[list[str]] = None,
        options: Optional[dict[str, Any]] = None,
        keep_last_seconds: int = 0,
        span_suffix: Optional[str] = None,
    ) -> None:
        self.native = _SessionConfig()
        self.native.keep_last_seconds = keep_last_seconds
        self.native.struct_size = ctypes.sizeof(_SessionConfig)
        self.native.features = features
        self.native.directory = _path_bytes(directory)
        self.native.worker_name = _path_bytes(worker_name)
        self.native.domain_include = _path_bytes(",".join(domain_include or []) or None)
        self.native.domain_exclude = _path_bytes(",".join(domain_exclude or []) or None)
        self.native.span_suffix = _path_bytes(span_suffix)
        self.native.options = json_text(options).encode() if options else None


def _path_bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)


def library_folders() -> list[str]:
    """Folders where the native libraries may lie, best first."""
    folders = []
    home = os.environ.get("SONDE_HOME")
    if home:
        folders.append(os.path.join(home, "lib"))
    folders.append(os.path.join(_PACKAGE, "lib"))
    root = os.path.dirname(os.path.dirname(_PACKAGE))
    folders.extend(os.path.join(root, "build", preset, "lib") for preset in _BUILD_PRESETS)
    return folders


def find_library(name: str) -> Optional[str]:
    """Absolute path of a native library of Sonde, or None."""
    for folder in library_folders():
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


def find_command() -> Optional[str]:
    """Absolute path of the command ``sonde``, or None."""
    for folder in library_folders():
        path = os.path.join(os.path.dirname(folder), "bin", "sonde")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    for folder in os.get_exec_path():
        path = os.path.join(folder, "sonde")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


class Recorder:
    """The recorder of this process.

    ``fast`` holds the library opened without releasing the GIL around calls: for calls that never
    block (names, ranges, marks). ``slow`` releases it: for sessions, which write files.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.fast = ctypes.PyDLL(path)
            self.slow = ctypes.CDLL(path)
        except OSError as error:
            raise NativeError(f"cannot load {path}: {error}") from None
        self._declare()
        self._features = ctypes.c_uint32.in_dll(self.fast, "sonde_features_")
        self._listeners: list[Any] = []  # kept alive for the C side
        self._names: dict[str, int] = {}
        self._domains: dict[str, int] = {"default": 0}
        self.range_pop = self.fast.sonde_range_pop
        self.range_push = self.fast.sonde_range_push

    def _declare(self) -> None:
        for library, functions in (
            (self.fast, _FAST_FUNCTIONS),
            (self.slow, _SLOW_FUNCTIONS),
        ):
            for name, (result, arguments) in functions.items():
                try:
                    function = getattr(library, name)
                except AttributeError:
                    raise NativeError(f"{self.path} has no function {name}") from None
                function.restype = result
                function.argtypes = arguments

    def _check(self, status: int, what: str) -> None:
        if status == 0:
            return
        text = (self.fast.sonde_last_error() or b"").decode("utf-8", "replace")
        raise NativeError(f"{what}: {text or os.strerror(-status)}")

    # Names

    def intern(self, text: str) -> int:
        """Number of a name; asks the recorder only where it is not remembered."""
        number = self._names.get(text)
        if number is None:
            data = text.encode("utf-8", "replace")
            number = self.fast.sonde_intern(data, len(data))
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()  # texts that differ each time; those in use come back
            self._names[text] = number
        return number

    def args(self, values: dict[str, Any], once: bool = False) -> int:
        """Number of an argument set: integers, floating point numbers and texts by name. ``once``:
        it belongs to one record of this session, and is not kept."""
        builder = _ArgsBuilder()
        place = ctypes.byref(builder)
        self.fast.sonde_args_init(place)
        for key, value in values.items():
            name = self.intern(key)
            if isinstance(value, int):
                self.fast.sonde_args_int(place, name, value)
            elif isinstance(value, float):
                self.fast.sonde_args_double(place, name, value)
            else:
                data = str(value).encode("utf-8", "replace")
                self.fast.sonde_args_text(place, name, data, len(data))
        make = self.fast.sonde_args_once if once else self.fast.sonde_args_intern
        return make(place)

    def inputs(self, tensors: "list[tuple[int, tuple[int, ...]]]") -> int:
        """Number of the argument set of an operator's inputs, as adapters record them: type, by
        torch's number, and sizes of each tensor. 0: they do not fit into a set."""
        parts = [len(tensors).to_bytes(2, "little")]
        for number, sizes in tensors:
            parts.append(bytes((_INPUT_TENSOR, number, len(sizes))))
            parts += [size.to_bytes(8, "little", signed=True) for size in sizes]
        data = b"".join(parts)
        builder = _ArgsBuilder()
        place = ctypes.byref(builder)
        self.fast.sonde_args_init(place)
        self.fast.sonde_args_field(place, self.intern("inputs"), _ARGS_INPUTS, data, len(data))
        return 0 if builder.overflowed else self.fast.sonde_args_intern(place)

    def domain(self, name: str) -> int:
        """Number of a domain of markers, created on first use."""
        number = self._domains.get(name)
        if number is None:
            number = self.fast.sonde_domain_create(name.encode("utf-8", "replace"))
            self._domains[name] = number
        return number

    # State

    def features(self) -> int:
        """What is being recorded now: ``FEATURE_...`` bits, 0 for nothing."""
        return self._features.value & 0xFFFF

    def features_word(self) -> int:
        """The same with bits that distinguish one session from the next."""
        return self._features.value

    def status(self) -> SessionStatus:
        """State, counts and step of the current or last session."""
        status = SessionStatus()
        status.struct_size = ctypes.sizeof(SessionStatus)
        self._check(self.slow.sonde_session_get_status(ctypes.byref(status)), "status")
        return status

    def session_path(self) -> str:
        """Folder of the current or last session, empty for none."""
        return os.fsdecode(self.fast.sonde_session_path() or b"")

    def version(self) -> str:
        """Version of the recorder library."""
        return (self.fast.sonde_version() or b"").decode()

    # Sessions

    def prepare(self, config: SessionConfig) -> None:
        """Opens files and buffers, so that the start is cheap."""
        status = self.slow.sonde_session_prepare(ctypes.byref(config.native))
        self._check(status, "cannot prepare the recording")

    def start(self, config: SessionConfig) -> str:
        """Starts recording (prepares if needed) and returns the span folder."""
        status = self.slow.sonde_session_start(ctypes.byref(config.native))
        self._check(status, "cannot start the recording")
        return self.session_path()

    def stop(self) -> str:
        """Stops recording and returns the span folder, which is then complete."""
        buffer = ctypes.create_string_buffer(4096)
        self._check(self.slow.sonde_session_stop(buffer, len(buffer)), "cannot stop the recording")
        return os.fsdecode(buffer.value)

    def discard(self) -> None:
        """Stops and removes the folder of the session."""
        self._check(self.slow.sonde_session_discard(), "cannot discard the recording")

    def metadata(self, key: str, json_text: str) -> None:
        """Stores one fact about the process; ``json_text`` is JSON."""
        status = self.slow.sonde_metadata(key.encode("utf-8"), json_text.encode("utf-8", "replace"))
        self._check(status, f"cannot store metadata {key}")

    def report_issue(self, text: str) -> None:
        """Leaves a problem in the capture for whoever reads it."""
        self.slow.sonde_report_issue(text.encode("utf-8", "replace"))

    def add_listener(self, listener: Callable[[int, str], None]) -> None:
        """Has ``listener(event, options)`` called at each ``EVENT_...``, where that is caused.

        ``options``: the object that the session was started with, as JSON; "" for none.

        Not for EVENT_FORK_CHILD: Python cannot run inside fork(), where a request of another
        thread for the interpreter would never be answered.

        For the life of the process; it must not raise and must not start or stop sessions.
        """

        def call(event: int, config: Any, data: Any) -> None:
            options = config.contents.options if config else None
            listener(event, (options or b"").decode(errors="replace"))

        native = _LISTENER(call)
        self._listeners.append(native)
        self._check(
            self.slow.sonde_add_session_listener(native, None), "cannot listen to the recorder"
        )

    # Control

    def control_listen(self, address: str, defaults: SessionConfig) -> str:
        """Serves start and stop requests; returns the address in use."""
        status = self.slow.sonde_control_listen(os.fsencode(address), ctypes.byref(defaults.native))
        self._check(status, "no control address")
        buffer = ctypes.create_string_buffer(1024)
        self._check(self.slow.sonde_control_address(buffer, len(buffer)), "no control address")
        return os.fsdecode(buffer.value)

    def control_route(self, path: str, function: "Callable[[str], tuple[int, str]]") -> None:
        """Has POST ``path`` answered by ``function(body)``: the HTTP status and a JSON text.

        For the life of the process; it runs on the control thread and must not raise.
        """

        def call(body: bytes, answer: int, size: int, data: Any) -> int:
            status, text = function(body.decode("utf-8", "replace"))
            encoded = text.encode()[: size - 1] + b"\0"
            ctypes.memmove(answer, encoded, len(encoded))
            return status

        native = _ROUTE(call)
        self._listeners.append(native)
        self._check(self.slow.sonde_control_route(path.encode(), native, None), f"route {path}")

    def dynamic_watch(self, folder: str, defaults: SessionConfig) -> None:
        """Watches ``profiler_config.json`` in a folder; steps come by ``sonde_dynamic_step``."""
        status = self.slow.sonde_dynamic_watch(os.fsencode(folder), ctypes.byref(defaults.native))
        self._check(status, f"cannot watch {folder}")

    # Schedule

    def schedule_action(self, schedule: Schedule, step: int) -> int:
        """Action of a step as a number, see ``sonde_schedule_action``."""
        return self.fast.sonde_schedule_action(ctypes.byref(schedule), step)

    def schedule_transition(self, previous: int, current: int) -> "tuple[list[int], int]":
        """Operations in order and the number of the warning (0 none) of one transition."""
        warning = ctypes.c_int(0)
        packed = self.fast.sonde_schedule_transition(previous, current, ctypes.byref(warning))
        operations = []
        while packed:
            operations.append(packed & 0xFF)
            packed >>= 8
        return operations, warning.value


_lock = threading.Lock()
_recorder: Optional[Recorder] = None


def recorder() -> Recorder:
    """The recorder, opened at the first call. Raises ``NativeError`` where it cannot be found."""
    global _recorder
    if _recorder is None:
        with _lock:
            if _recorder is None:
                path = find_library(RECORDER_LIBRARY)
                if path is None:
                    folders = ", ".join(library_folders())
                    raise NativeError(f"{RECORDER_LIBRARY} not found in {folders}")
                _recorder = Recorder(path)
    return _recorder


def loaded_recorder() -> Optional[Recorder]:
    """The recorder if it was opened before, without opening it."""
    return _recorder


def json_text(value: Any) -> str:
    """Compact JSON of a value; values that JSON lacks become their text."""
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
