"""Recording on request of a watched file, in a program that calls ``step()`` once an iteration.

::

    from sonde.torch import dynamic_profile as dp

    dp.init("conf")          # watches conf/profiler_config.json, made with defaults if absent
    for batch in loader:
        train(batch)
        dp.step()

A changed modification time of the file (whole seconds) asks for ``warmup + active`` steps from
``start_step`` on (-1: from the next one). The file is looked at in ``step()``, at most every two
seconds, later at most once a step. Ranks look for themselves: with -1 they may begin one step
apart.
"""

import json
import logging
import logging.handlers
import os
import socket
import time
from typing import Any, Optional

from sonde import _step_mark
from sonde._new_file import create_new, going_on
from sonde.session import _console, _metadata, _place
from sonde.session._enums import AiCMetrics, ExportType, HostSystem, ProfilerActivity, ProfilerLevel
from sonde.session._experimental import _ExperimentalConfig
from sonde.session._handler import tensorboard_trace_handler
from sonde.session._schedule import schedule
from sonde.torch._profiler import live_profiles, profile

CONFIG_NAME = "profiler_config.json"
_POLL_S = 2.0
_POLL_LIMITS_S = (1.0, 50.0)
_STEPS_BEFORE_ADAPTING = 10
_LOG_BYTES = 200 * 1024

DEFAULTS: "dict[str, Any]" = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": False,
    "record_shapes": False,
    "profile_memory": False,
    "with_stack": False,
    "with_flops": False,
    "with_modules": False,
    "active": 1,
    "warmup": 0,
    "start_step": 0,
    "is_rank": False,
    "rank_list": [],
    "async_mode": False,
    "experimental_config": {
        "profiler_level": "Level0",
        "aic_metrics": "AiCoreNone",
        "l2_cache": False,
        "op_attr": False,
        "gc_detect_threshold": None,
        "data_simplification": True,
        "record_op_args": False,
        "export_type": ["text"],
        "mstx": False,
        "mstx_domain_include": [],
        "mstx_domain_exclude": [],
        "host_sys": [],
        "sys_io": False,
        "sys_interconnection": False,
    },
}


class _Watcher:
    """The watched file and the profile that it asked for."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, CONFIG_NAME)
        self.log = _make_log(folder)
        self.cur_step = 0
        self._config: Optional[dict[str, Any]] = None
        self._prof: Optional[profile] = None
        self._stop_step = 0
        self._steps = 0
        self._interval_s = _POLL_S
        now = time.monotonic()
        self._next_poll = now + _POLL_S
        self._first_step_time = now
        if not os.path.exists(self.path):
            _write_defaults(self.path)
        self._modified = _modified_s(self.path)

    def step(self) -> None:
        """One iteration ended."""
        self.cur_step += 1
        self._count()
        if self._prof is not None:
            self._prof.step()
            if self.cur_step >= self._stop_step:
                self._stop()
            return
        self._poll()
        if self._config is not None:
            self._start_if_due()

    def start_now(self, config: "dict[str, Any]") -> None:
        """Starts at this step, whatever the file asks for."""
        if self._prof is not None or live_profiles():
            self.log.error(
                "Profiler already started. "
                "Cannot call start interface while the profiler is active. "
            )
            return
        self._start(config)

    def close(self) -> None:
        """At exit: completes a recording that has not seen all its steps."""
        if self._prof is not None:
            self.log.warning(
                "Profiler stop when process exit, check cfg json active whether over all step!"
            )
            self._stop()

    def _count(self) -> None:
        """After some steps the file is looked at once a step, in whole seconds within limits."""
        self._steps += 1
        if self._steps == 1:
            self._first_step_time = time.monotonic()
        elif self._steps == _STEPS_BEFORE_ADAPTING + 1:
            mean_s = (time.monotonic() - self._first_step_time) / _STEPS_BEFORE_ADAPTING
            low, high = _POLL_LIMITS_S
            self._interval_s = min(max(float(int(mean_s)), low), high)

    def _poll(self) -> None:
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + self._interval_s
        modified = _modified_s(self.path)
        if modified in (0, self._modified):
            return
        self._modified = modified
        self._config = read_config(self.path, self.log)

    def _start_if_due(self) -> None:
        config = self._config
        assert config is not None
        start_step = config.get("start_step", 0)
        if not isinstance(start_step, int) or start_step < -1:
            start_step = 0
        if start_step == -1 or start_step == self.cur_step:
            self._config = None
            self._start(config)
        elif start_step < self.cur_step:
            self._config = None
            self.log.warning(
                "Dynamic Profiler config is not effective. The start_step=%s, current_step=%s",
                start_step,
                self.cur_step,
            )

    def _start(self, config: "dict[str, Any]") -> None:
        rank, _ = _metadata.rank()
        listed = config.get("rank_list") or []
        if config.get("is_rank") and max(rank, 0) not in listed:
            return
        warmup, active = int(config.get("warmup", 0)), int(config.get("active", 1))
        self._prof = _make_profile(config, warmup, active)
        self._prof.first_step = self.cur_step
        self._stop_step = self.cur_step + warmup + active
        self.log.info("Start Dynamic Profiler at %d step.", self.cur_step)
        self._prof.start()

    def _stop(self) -> None:
        prof, self._prof = self._prof, None
        assert prof is not None
        prof.stop()
        self.log.info("Stop Dynamic Profiler at %d step.", self.cur_step)


_watcher: Optional[_Watcher] = None


def _make_log(folder: str) -> logging.Logger:
    rank, _ = _metadata.rank()
    log_folder = os.path.join(folder, "log")
    os.makedirs(log_folder, mode=_place.DIRECTORY_MODE, exist_ok=True)
    name = f"dp_{socket.gethostname()}_{os.getpid()}_rank_{rank}.log"
    handler = _LogFile(os.path.join(log_folder, name), maxBytes=_LOG_BYTES, backupCount=1)
    handler.setFormatter(
        logging.Formatter("%(asctime)s [%(levelname)s] [%(process)d] %(filename)s: %(message)s")
    )
    log = logging.Logger("sonde.dynamic_profile", logging.INFO)
    log.addHandler(handler)
    return log


class _LogFile(logging.handlers.RotatingFileHandler):
    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding=self.encoding, opener=going_on)


def _write_defaults(path: str) -> None:
    """Whole or not at all: several ranks may do this at once."""
    partial = f"{path}.{os.getpid()}.part"
    with open(partial, "w", encoding="utf-8", opener=create_new) as file:
        json.dump(DEFAULTS, file, indent=4)
    os.replace(partial, path)


def _modified_s(path: str) -> int:
    try:
        return int(os.stat(path).st_mtime)
    except OSError:
        return 0


def read_config(path: str, log: logging.Logger) -> "Optional[dict[str, Any]]":
    """The file's object; None, with a line in the log, where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError, RecursionError) as problem:
        log.error("The provided config_path is invalid: %s %s", path, problem)
        return None
    if not isinstance(config, dict):
        log.error("The provided config_path is invalid: %s is no JSON object", path)
        return None
    return config


def _activities(names: Any) -> "Optional[list[ProfilerActivity]]":
    """Those that are listed; the names of torch's devices stand for the device. None: all."""
    known = {name: ProfilerActivity.NPU for name in ("CUDA", "XPU", "PrivateUse1")}
    known.update(ProfilerActivity.__members__)
    listed = [names] if isinstance(names, str) else list(names or ())
    for name in listed:
        if name not in known:
            _console.warning(
                f"Parameter activities: {name!r} is none of {', '.join(known)} and is left out."
            )
    return [known[name] for name in listed if name in known] or None


#: What records; `record_by` sets it.
_profile_class: "type[profile]" = profile


def record_by(profile_class: "type[profile]") -> None:
    """Has requests recorded by another class: one that ends the recording of ``sonde run`` first,
    as a process records one capture at a time."""
    global _profile_class
    _profile_class = profile_class


def _make_profile(config: "dict[str, Any]", warmup: int, active: int) -> profile:
    directory = str(config.get("prof_dir", "./"))
    prof = _profile_class(
        activities=_activities(config.get("activities")),
        schedule=schedule(wait=0, warmup=warmup, active=active, repeat=1),
        on_trace_ready=tensorboard_trace_handler(
            directory,
            analyse_flag=bool(config.get("analyse", False)),
            async_mode=bool(config.get("async_mode", False)),
        ),
        record_shapes=config.get("record_shapes", False),
        profile_memory=config.get("profile_memory", False),
        with_stack=config.get("with_stack", False),
        with_flops=config.get("with_flops", False),
        with_modules=config.get("with_modules", False),
        experimental_config=_experimental(config.get("experimental_config")),
    )
    metadata = config.get("metadata")
    if isinstance(metadata, dict):
        for key, value in metadata.items():
            prof.add_metadata_json(str(key), json.dumps(value))
    return prof


def _experimental(values: Any) -> _ExperimentalConfig:
    """The object ``experimental_config`` of the file; without it the class's defaults."""
    if not isinstance(values, dict):
        return _ExperimentalConfig()
    switches = {
        name: values[name]
        for name in DEFAULTS["experimental_config"]
        if name in values and values[name] is not None
    }
    kinds = switches.get("export_type", ["text"])
    switches["profiler_level"] = ProfilerLevel[switches.get("profiler_level", "Level0")]
    switches["aic_metrics"] = AiCMetrics[switches.get("aic_metrics", "AiCoreNone")]
    switches["export_type"] = [
        ExportType(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])
    ]
    switches["host_sys"] = [HostSystem(name) for name in switches.get("host_sys", [])]
    switches["mstx"] = bool(values.get("mstx", False) or values.get("msprof_tx", False))
    return _ExperimentalConfig(**switches)


@_console.guarded()
def init(path: str) -> None:
    """Starts watching ``profiler_config.json`` in a folder that exists."""
    global _watcher
    if _watcher is not None:
        _watcher.log.warning("Init dynamic profiling repeatedly")
        return
    folder = os.path.abspath(os.fspath(path))
    if not os.path.isdir(folder):
        _console.error(f"The path '{path}' is invalid, and profiler will not be enabled.")
        return
    import atexit

    _watcher = _Watcher(folder)
    atexit.register(_watcher.close)


@_console.guarded()
def step() -> None:
    """Declares that an iteration ended; without ``init``, to ``sonde run``."""
    if _watcher is not None:
        _watcher.step()
    else:
        _step_mark.step()


@_console.guarded()
def start(config_path: Optional[str] = None) -> None:
    """Starts recording at this step, with the settings of another file (None: the watched one)."""
    if _watcher is None:
        _console.error("dynamic_profile.start needs dynamic_profile.init first")
        return
    config = read_config(config_path or _watcher.path, _watcher.log)
    if config is not None:
        _watcher.start_now(config)


@_console.guarded()
def set_state(state: "dict[str, int]") -> None:
    """Sets the step counter: ``{"cur_step": n}`` with n >= 0."""
    if _watcher is None:
        _console.error("dynamic_profile.set_state needs dynamic_profile.init first")
        return
    if not isinstance(state, dict):
        _watcher.log.warning("Dynamic profiler state_step must be dict.")
        return
    number = state.get("cur_step")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        _watcher.log.warning("Dynamic profiler cur_step must be a non-negative integer.")
        return
    _watcher.cur_step = number
