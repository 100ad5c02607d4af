"""``profile`` and ``_KinetoProfile``: recording from inside a program.

Every public method is guarded: whatever goes wrong is printed and the program goes on.
"""

import atexit
import os
import shutil
import sys
import weakref
from collections.abc import Iterable
from typing import Any, Callable, Optional

from sonde import _machine, _native
from sonde.session import _console, _export, _place
from sonde.session._annotations import Annotations
from sonde.session._console import guarded
from sonde.session._enums import (
    ProfilerAction,
    as_action,
)
from sonde.session._experimental import _ExperimentalConfig
from sonde.session._schedule import Schedule
from sonde.torch import _checks, _tables
from sonde.torch._recording import Recording, Settings

_SWITCHES = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")


def _record_always(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class _KinetoProfile(Annotations):
    """Records from ``start()`` to ``stop()``; parameters as for ``profile``.

    The capture lives in ``export_only_prof_dir`` as long as the object; use ``export_...``.
    """

    #: Whether `events` is about all recordings of the object, not the last one only.
    _accumulates = False

    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool

    def __init__(
        self,
        *,
        activities: Optional[Iterable[Any]] = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Optional[_ExperimentalConfig] = None,
        custom_trace_id_callback: Optional[Callable[[], str]] = None,
    ) -> None:
        super().__init__(custom_trace_id_callback)
        self.activities = _checks.activities(activities)
        values = (record_shapes, profile_memory, with_stack, with_flops, with_modules)
        for name, value in zip(_SWITCHES, values):
            if not isinstance(value, bool):
                _console.warning(f"Parameter {name} is of boolean type, reset it to False.")
                value = False
            setattr(self, name, value)
        self.experimental_config = _checks.experimental(experimental_config, self.activities)
        self._keeps_data = False
        self._recording: Optional[Recording] = None
        self._recorded: list[str] = []  # span folders that `events` is about
        self._events: Any = None  # their events once somebody asked
        self._disabled = _checks.no_op_reason()
        #: Span folder of the current or last recording, empty for none.
        self.span_path = ""

    # Recording

    @guarded()
    def start(self) -> None:
        """Starts recording."""
        if self._refused():
            return
        self._init()
        self._start()

    @guarded()
    def stop(self) -> None:
        """Stops recording; the capture is then complete."""
        if self._disabled or self._recording is None:
            return
        self._stop()
        self._recording = None

    @property
    def profiler(self) -> Optional["_KinetoProfile"]:
        """This object while it has a recording, else None (as ``torch.profiler`` programs ask)."""
        return self if self._recording is not None else None

    def _refused(self) -> bool:
        if self._disabled:
            _console.warning(self._disabled)
        return bool(self._disabled)

    def _settings(self) -> Settings:
        switches = self.experimental_config
        directory, worker_name = _place.place()
        if not self._keeps_data:
            directory = _place.export_only_directory()
        os.makedirs(directory, mode=_place.DIRECTORY_MODE, exist_ok=True)
        return Settings(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules or self.with_stack,
            markers=switches.markers,
            flops=self.with_flops,
            host_systems=switches.sampled_systems(),
            gc_threshold_ms=switches.gc_detect_threshold,
            domain_include=switches.mstx_domain_include,
            domain_exclude=switches.mstx_domain_exclude,
            directory=directory,
            worker_name=worker_name,
            config=self._config(),
        )

    def _config(self) -> dict[str, Any]:
        """Object ``config`` of ``profiler_info.json``."""
        names = sorted(str(activity) for activity in self.activities)
        common: dict[str, Any] = {"activities": names, "schedule": self._schedule_config()}
        common.update({name: getattr(self, name) for name in _SWITCHES})
        return {
            "common_config": common,
            "experimental_config": self.experimental_config.config(),
        }

    def _schedule_config(self) -> dict[str, int]:
        return {}

    def _facts(self) -> dict[str, Any]:
        return {"user_metadata": self._metadata, "trace_id": self._trace_id}

    def _init(self) -> None:
        self._trace_id = self._new_trace_id()
        self.span_path = ""
        if not self._accumulates:
            self._recorded, self._events = [], None
        self._recording = Recording(self._settings(), self._facts)
        for name in self.experimental_config.without_effect():
            _console.warning(f"Parameter {name} has no effect: no device here can serve it.")
        for text in self.experimental_config.not_sampled():
            _console.warning(f"Parameter host_sys: {text} cannot be sampled and is left out.")
        self._warn_of_flops()

    def _warn_of_flops(self) -> None:
        if self.with_flops and not self.experimental_config.markers:
            _console.warning("Parameter with_flops has no effect unless mstx or msprof_tx is True.")

    def _warmup(self) -> None:
        assert self._recording is not None
        self._recording.prepare()

    def _start(self) -> None:
        assert self._recording is not None
        self.span_path = self._recording.start()
        if not self._keeps_data:
            weakref.finalize(self, _remove_span, self.span_path, os.getpid())

    def _stop(self) -> None:
        assert self._recording is not None
        if self._recording.active:
            self.span_path = self._recording.stop()
            self._recorded.append(self.span_path)
            self._events = None

    # Deliverables

    @guarded()
    def export_chrome_trace(self, output_path: str = "", *, path: str = "", **_: Any) -> None:
        """Writes the timeline (content of ``trace_view.json``) to a file, gzip for ``.gz``.

        ``path`` is torch's name of ``output_path``.
        """
        self._say_when_db_only()
        _export.chrome_trace(self.span_path, _one_path(output_path, path))

    @guarded()
    def export_stacks(
        self, output_path: str = "", metric: str = "self_cpu_time_total", *, path: str = ""
    ) -> None:
        """Writes call stacks with self times (whole microseconds) for flame graphs.

        One line for each operator call with a stack: frames from the outermost, separated by
        ``;``, a blank, the time. Needs ``with_stack``. The file's name ends in ``.log`` whatever
        ``output_path`` ends in; ``path``, torch's name of it, is taken as it is.
        """
        if not self.with_stack:
            _console.warning("Function export_stacks() requires with_stack=True.")
            return
        self._say_when_db_only()
        name = _one_path(output_path and _export.log_name(output_path), path)
        _export.stacks(self.span_path, name, metric)

    @guarded()
    def export_memory_timeline(
        self, output_path: str = "", device: Optional[str] = None, *, path: str = ""
    ) -> None:
        """Writes memory over time (bytes, microseconds) to ``.json``, ``.json.gz``, ``.html``.

        Needs ``record_shapes``, ``profile_memory`` and ``with_stack`` or ``with_modules``. The
        categories of tensors are not distinguished: every byte counts as unknown.
        """
        missing = [name for name in ("record_shapes", "profile_memory") if not getattr(self, name)]
        if not (self.with_stack or self.with_modules):
            missing.append("with_stack or with_modules")
        if missing:
            _console.warning(f"{', '.join(missing)} required for memory profiling.")
            return
        self._say_when_db_only()
        _export.memory_timeline(self.span_path, _one_path(output_path, path), device)

    def events(self) -> Any:
        """Every operator call of the last recording, as torch's ``EventList``."""
        events = self._read_events()
        return _tables.none() if events is None else events

    def key_averages(self, group_by_input_shape: bool = False, *args: Any, **others: Any) -> Any:
        """Operator calls summed up by name, as torch's ``EventList``; ``.table()`` gives text.

        Further parameters are those of ``EventList.key_averages``.
        """
        return self.events().key_averages(group_by_input_shape, *args, **others)

    @guarded(name="events")
    def _read_events(self) -> Any:
        if self._events is None:
            if self._recording is not None and not self._recorded:
                return _tables.none()  # of a recording that runs nothing is complete
            self._events = _tables.read(self._recorded or [self.span_path], self._shown())
        return self._events

    def _shown(self) -> _tables.Shown:
        return _tables.Shown(self.record_shapes, self.profile_memory, self.with_stack)

    def _say_when_db_only(self) -> None:
        kinds = [kind.value for kind in self.experimental_config.export_type]
        if "text" not in kinds:
            _console.warning(
                "The setting of type in experimental_config as db will be ignored "
                "while set export_chrome_trace or export_stacks"
            )


class profile(_KinetoProfile):  # the name that programs use
    """Records the steps that a schedule chooses; a context manager.

    Parameters (keywords only) are those of ``torch_npu.profiler.profile``:

    ``activities``          collection of ``ProfilerActivity``; None: all
    ``schedule``            function from step to ``ProfilerAction``; None: record every step
    ``on_trace_ready``      called with this object when a capture is complete
    ``record_shapes``       shapes and types of inputs
    ``profile_memory``      allocations and releases
    ``with_stack``          Python call stacks
    ``with_modules``        one range for each ``nn.Module`` call
    ``with_flops``          ranges with the FLOPs of matrix products; needs ``mstx``
    ``experimental_config`` ``_ExperimentalConfig``

    A wrong value gives a warning and the default.
    """

    def __init__(
        self,
        *,
        activities: Optional[Iterable[Any]] = None,
        schedule: Optional[Callable[[int], Any]] = None,
        on_trace_ready: Optional[Callable[..., Any]] = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Optional[_ExperimentalConfig] = None,
        execution_trace_observer: Any = None,
        use_cuda: Optional[bool] = None,
        custom_trace_id_callback: Optional[Callable[[], str]] = None,
    ) -> None:
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        if use_cuda is not None:
            _console.warning("This is npu environment, use_cuda is invalid")
        if schedule is not None and not callable(schedule):
            _console.warning("schedule is not Callable, set by default.")
            schedule = None
        if on_trace_ready is not None and not callable(on_trace_ready):
            _console.warning("on_trace_ready is not Callable, set by default.")
            on_trace_ready = None
        self.schedule = schedule or _record_always
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        #: Added to the numbers of step ranges (dynamic profiling starts in mid-training).
        self.first_step = 0
        self._keeps_data = on_trace_ready is not None
        self._marks_steps = schedule is not None
        self._observer = execution_trace_observer
        self._stopped = False
        self._finished: Optional[Recording] = None
        self._machine = self._make_machine()

    def _make_machine(self) -> _machine.Machine:
        return _machine.Machine(
            {
                _machine.OP_INIT: self._init,
                _machine.OP_WARMUP: self._warmup,
                _machine.OP_START: self._start,
                _machine.OP_STOP: self._stop,
                _machine.OP_FINALIZE: self._finalize,
                _machine.OP_TRACE_READY: self._trace_ready,
                _machine.OP_DELETE: self._delete,
            },
            self._warn_of_schedule,
        )

    def _warn_of_schedule(self, text: str) -> None:
        _console.warning(text)

    @property
    def current_action(self) -> ProfilerAction:
        """What the schedule wants for the step that runs now."""
        return ProfilerAction(self._machine.action)

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.stop()

    @guarded()
    def start(self) -> None:
        """Enters the schedule at step 0."""
        if self._refused():
            return
        self._stopped = False
        self._machine.change(self._wanted())
        if self._observer is not None:
            self._ask(self._observer.start)
        self._open_step()
        _live.add(self)

    @guarded()
    def step(self) -> None:
        """Declares that a step ended: applies the schedule to the next one."""
        if self._disabled:
            return
        if self._stopped:
            _console.warning("Profiler is stopped, step takes no effect!")
            return
        self._close_step()
        self.step_num += 1
        self._machine.change(self._wanted())
        self._open_step()

    @guarded()
    def stop(self) -> None:
        """Leaves the schedule; a recording that runs is completed and handed over."""
        if self._disabled or self._stopped:
            return
        self._stopped = True
        _live.discard(self)
        self._close_step()
        if self._observer is not None:
            self._ask(self._observer.stop)
        self._machine.change(_machine.EXIT)

    def _wanted(self) -> int:
        return as_action(self._ask(self.schedule, self.step_num)).value

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls what the program gave."""
        return function(*args)

    def _open_step(self) -> None:
        if self._marks_steps and self._recording is not None and self._recording.active:
            _native.recorder().fast.sonde_step(self.first_step + self.step_num)

    def _close_step(self) -> None:
        if self._marks_steps and self._recording is not None and self._recording.active:
            _native.recorder().fast.sonde_step(-1)

    def _schedule_config(self) -> dict[str, int]:
        return self.schedule.config() if isinstance(self.schedule, Schedule) else {}

    def _finalize(self) -> None:
        self._finished, self._recording = self._recording, None

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self._ask(self.on_trace_ready, self)

    def _delete(self) -> None:
        if self._finished is not None:
            self._finished.discard()
        self.span_path = ""

    # Threads

    @classmethod
    @guarded()
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Checks its parameters only: every thread is recorded, with the switches of the object."""
        values = (record_shapes, profile_memory, with_stack, with_flops, with_modules)
        for name, value in zip(_SWITCHES, values):
            if not isinstance(value, bool):
                _console.warning(
                    f"{name} in enable_profiler_in_child_thread is not bool, reset it to False."
                )

    @classmethod
    def disable_profiler_in_child_thread(cls) -> None:
        """Does nothing: see ``enable_profiler_in_child_thread``."""


_live: "weakref.WeakSet[profile]" = weakref.WeakSet()


def _stop_all() -> None:
    """At exit: a profile that nobody stopped is completed."""
    for prof in list(_live):
        try:
            prof.stop()
        except Exception as problem:  # of the program's handler
            _console.error(f"Call stop failed. Exception: {problem}")


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_live.clear)  # the parent's to stop


def _one_path(output_path: Any, path: Any) -> str:
    """The file that a program names by torch_npu's word or by torch's."""
    if not output_path and not path:
        raise TypeError("a path for the file is missing")
    return os.fspath(output_path or path)


def _remove_span(span: str, owner: int) -> None:
    """Removes an export-only capture, and its parent folder where it was the last.

    Children that were forked end with a copy of the object: it is the ``owner``'s to remove.
    """
    if os.getpid() != owner:
        return
    try:
        shutil.rmtree(span)
    except FileNotFoundError:
        pass
    except OSError:
        print("Remove temporary profiling data saving path failed.", file=sys.stderr)
    try:
        os.rmdir(os.path.dirname(span))
    except OSError:
        pass  # other captures are in it


def live_profiles() -> list[profile]:
    """Profiles that were started and not stopped."""
    return list(_live)
