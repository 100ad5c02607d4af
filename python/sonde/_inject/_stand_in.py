"""What a program under ``sonde run`` gets where it asks for ``torch.profiler.profile``.

The program decides when to record, Sonde how: the captures lie in ``--profile-save-path`` and are
parsed like all others; the program's own handler still writes its files, in torch's form. From the
first profiler that the program starts, the recording of the whole program has ended (what it has
is kept), since a process records one capture at a time.

Not used where the command line decides when to record (steps, a control address): there the
program's profiler remains torch's own.
"""

import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from typing import Any, Callable, Optional

from sonde import _report
from sonde._inject._options import Options
from sonde._seams import Part, Seam
from sonde.session import _console, _export
from sonde.session._enums import AiCMetrics, ExportType, ProfilerActivity, ProfilerLevel
from sonde.session._experimental import _ExperimentalConfig
from sonde.torch import _tables
from sonde.torch._profiler import profile
from sonde.torch._recording import Settings

_LEVELS = {
    "level_none": ProfilerLevel.Level_none,
    "level0": ProfilerLevel.Level0,
    "level1": ProfilerLevel.Level1,
    "level2": ProfilerLevel.Level2,
}


_SERVING_DOMAIN = "sonde.serving"


class TraceFolder:
    """What a server gets for ``torch.profiler.tensorboard_trace_handler``: the folder of its
    captures and the first part of their names. Nothing is written while the server waits."""

    def __init__(
        self, dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False
    ) -> None:
        self.directory = None if "://" in dir_name else dir_name
        self.worker_name = worker_name
        #: Whether the worker is a front-end, which calls nothing of torch.
        self.is_front_end = (worker_name or "").endswith(".async_llm")

    def __call__(self, prof: Any) -> None:
        """Does nothing."""


class NoTable(_tables.NoOperators):
    """Instead of the operator table that a server asks for before it answers."""

    def __init__(self, span: str) -> None:
        super().__init__()
        self._span = span

    def table(self, *_: Any, **__: Any) -> str:
        """Where the operators will stand."""
        if not self._span:
            return ""
        return f"operators: {os.path.join(self._span, 'ASCEND_PROFILER_OUTPUT')}\n"


class TorchProfile(profile):
    """``torch.profiler.profile`` by its parameters and methods.

    A keyword that is not known here (a newer torch's) is named in one line and has no effect.
    """

    #: What `install` was given.
    options = Options()
    owner: Any = None
    serves = False
    #: A torch before ``acc_events``: its lists hold the events of all recordings.
    always_accumulates = False

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
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: Optional[bool] = None,
        custom_trace_id_callback: Optional[Callable[[], str]] = None,
        **others: Any,
    ) -> None:
        _say_unknown([*others, *([] if experimental_config is None else ["experimental_config"])])
        options = self.options
        chosen = _chosen(activities)
        if activities is None and not options.with_cpu:
            activities = ()
        super().__init__(
            # The CPU may be the device; torch's programs ask for it by ``CPU`` alone.
            activities=None if activities is None else _recorded(chosen, options),
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=bool(record_shapes or options.record_shapes),
            profile_memory=bool(profile_memory or options.with_memory),
            with_stack=bool(with_stack or options.with_stack),
            with_flops=bool(with_flops),
            with_modules=bool(with_modules or options.with_modules),
            experimental_config=_device_switches(options, self.serves),
            execution_trace_observer=execution_trace_observer,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self._has_schedule = schedule is not None
        self._keeps_data = True
        self._accumulates = bool(acc_events) or self.always_accumulates
        self._action = 0  # torch's numbers are ours
        self.program_error: Optional[Exception] = None
        # What the command line adds is for the deliverables: the program's tables stay as they are.
        self._asked = _tables.Shown(
            bool(record_shapes),
            bool(profile_memory),
            bool(with_stack),
            bool(with_flops),
            _device(chosen),
        )
        self._folder = on_trace_ready if isinstance(on_trace_ready, TraceFolder) else None
        self._fit_to_server()

    def _fit_to_server(self) -> None:
        # A server's own seams report its steps.
        self._marks_steps = self._marks_steps and not self.serves
        if self._folder is not None and self._folder.is_front_end:
            self._disabled = "a front-end calls no operator"  # its requests are recorded elsewhere

    def _settings(self) -> Settings:
        settings = super()._settings()
        folder = self._folder.directory if self._folder is not None else None
        settings.directory = os.path.abspath(folder or self.options.save_path)
        settings.worker_name = self._folder.worker_name if self._folder is not None else None
        settings.own_domains = [_SERVING_DOMAIN] if self.serves else []
        settings.record_shapes = settings.record_shapes or self.with_flops
        return settings

    def _wanted(self) -> int:
        self._action = super()._wanted()
        return self._action

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        """As torch does: what the program raises reaches the program."""
        try:
            return super()._ask(function, *args)
        except Exception as problem:
            self.program_error = problem
            raise

    def _warn_of_flops(self) -> None:
        """None: the tables count them from the shapes."""

    def _warn_of_schedule(self, text: str) -> None:
        """As torch does: ending while it records is no mistake."""
        if not text.startswith("Incorrect schedule: Stop") and not text.startswith("Stop profiler"):
            super()._warn_of_schedule(text)

    @_console.guarded()
    def start(self) -> None:
        """Starts recording, on the ranks that the command line chose."""
        if not self.owner.wants_this_rank():
            self._disabled = "this rank is not in the list of ranks"
        if not self._disabled:
            super().start()

    def step(self) -> None:
        """As torch's: without a schedule it counts. The workers of a server may call it at each
        of their steps, whether they record or not."""
        if self._has_schedule:
            super().step()
        else:
            self.step_num += 1

    def _init(self) -> None:
        self.owner.yield_to_program()
        super()._init()

    def _start(self) -> None:
        super()._start()
        self.owner.window_began(self.span_path)

    def _trace_ready(self) -> None:
        try:
            super()._trace_ready()
        finally:
            if self.options.analyse and self.span_path:
                self.owner.parse_window(self.span_path)

    def events(self) -> Any:
        """Every call of the last recording (with ``acc_events``: of all), as torch's list."""
        return _tables.none() if self._disabled else super().events()

    def key_averages(self, *args: Any, **options: Any) -> Any:
        """Calls summed up by name, as torch's list; a server gets only the place where they will
        be."""
        return NoTable(self.span_path) if self.serves else super().key_averages(*args, **options)

    def _shown(self) -> _tables.Shown:
        return self._asked

    @_console.guarded()
    def export_chrome_trace(  # type: ignore[override]  # as torch has it
        self, path: str, *_: Any, **__: Any
    ) -> None:
        """Writes the trace in the form of torch's profiler, gzip for ``.gz``."""
        if self._disabled:
            return
        folder = tempfile.mkdtemp(prefix="sonde_trace_")
        try:
            trace = _export.kineto_trace(self.span_path, folder)
            _export.copy(trace, os.fspath(path))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def export_stacks(  # type: ignore[override]
        self, path: str, metric: str = "self_cpu_time_total"
    ) -> None:
        """Writes the stacks of the calls with their times as torch does, to exactly this file."""
        if not self._asked.stacks:
            raise AssertionError("export_stacks() requires with_stack=True")
        events = self.events()
        events.export_stacks(path, metric)

    def export_memory_timeline(  # type: ignore[override]
        self, path: str, device: Optional[str] = None
    ) -> None:
        """Writes memory over time; parameters as torch names them."""
        super().export_memory_timeline(path=path, device=device)

    # What torch has besides

    @property
    def profiler(self) -> Optional["TorchProfile"]:
        """This object from its first recording on: it has the lists and sums of torch's."""
        return self if self._recording or self._recorded or self._disabled else None

    @property
    def current_action(self) -> Any:
        """What the schedule wanted last, as torch's."""
        return sys.modules["torch"].profiler.ProfilerAction(self._action)

    @property
    def function_events(self) -> Any:
        """As `events`."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> Any:
        """Sum over all calls, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, *args: Any, **options: Any) -> str:
        """Text of all calls."""
        return self.events().table(*args, **options)

    def total_average(self) -> Any:
        """All calls in one row."""
        return self.events().total_average()

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Adds a value, given as JSON text, to the recordings to come."""
        self.add_metadata_json(key, value)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Has no effect, and reports that."""
        _report.log(
            "torch.profiler.profile.toggle_collection_dynamic has no effect under sonde run"
        )


def _say_unknown(names: list[str]) -> None:
    for name in names:
        _report.log(f"torch.profiler.profile({name}=...) has no effect under sonde run")


def _device_switches(options: Options, serves: bool) -> _ExperimentalConfig:
    return _ExperimentalConfig(
        profiler_level=_LEVELS[options.level_of(serves)],
        aic_metrics=AiCMetrics.AiCoreNone,
        mstx=options.mstx,
        gc_detect_threshold=options.gc_threshold_ms,
        export_type=[ExportType(kind) for kind in options.export_type],
        data_simplification=options.data_simplification,
    )


def _chosen(activities: Optional[Iterable[Any]]) -> list[Any]:
    """torch's activities without their settings (``{activity: [...]}``)."""
    chosen: list[Any] = []
    for item in activities or []:
        chosen.extend(item if isinstance(item, dict) else [item])
    return chosen


def _recorded(chosen: list[Any], options: Options) -> list[Any]:
    """What the program chose without what the command line does not want."""
    wanted = [item for item in chosen if options.with_cpu or item.name != "CPU"]
    return [*wanted, ProfilerActivity.NPU]


def _device(activities: list[Any]) -> Optional[str]:
    """The device that torch's tables would name, None for the CPU."""
    torch = sys.modules["torch"]
    wanted = {activity.name for activity in activities or torch.profiler.supported_activities()}
    for name in ("cuda", "xpu"):
        if name.upper() in wanted and getattr(torch, name).is_available():
            return name
    return None


def install(torch: Any, options: Options, owner: Any, serves: bool) -> None:
    """Replaces ``torch.profiler.profile``.

    ``owner`` is the recording of this process (``Run``), which steps aside when a profiler starts;
    ``serves``: the process belongs to a server, which must not wait for files.
    """
    TorchProfile.options = options
    TorchProfile.owner = owner
    TorchProfile.serves = serves
    if torch.profiler.profile is not TorchProfile:  # else the program joins a server later
        parameters = inspect.signature(torch.profiler.profile).parameters
        TorchProfile.always_accumulates = "acc_events" not in parameters
        TorchProfile.__doc__ = inspect.getdoc(torch.profiler.profile)
    for seam in seams(serves):
        seam.install()


def seams(serves: bool = True) -> tuple[Seam, ...]:
    """The names by which programs ask for torch's profiler."""
    parts = [Part("profile", replace=lambda original: TorchProfile)]
    if serves:
        parts.append(Part("tensorboard_trace_handler", replace=lambda original: TraceFolder))
    title = "sessions that the program starts" if serves else "profilers of the program"
    return (Seam(title, ("torch.profiler.profiler", "torch.profiler"), parts),)
