"""One process under ``sonde run``: when it records, and what becomes of the captures.

Three ways, by the options: from the import of torch to the end of the process; the steps
``[start, end)``; or on request (``SONDE_CONTROL``, a watched file). The rank may become known only
after recording began (``torch.distributed``); a capture of a rank that was not chosen is removed
then.

Threads: step callbacks come from the thread that trains; the end from the main thread.
"""

import os
import sys
import threading
import time
from typing import Any, Callable, Optional

from sonde import _analyse, _machine, _native, _report
from sonde._inject import _daemon, _requested
from sonde._inject._frameworks import Framework, StepCallbacks
from sonde._inject._options import Options
from sonde.session import _metadata
from sonde.session._recording import Settings

_IDLE_POLL_S = 0.02
_LAST = -1000  # of multiprocessing's finalizers, after those that join the child's own children
_TO_THE_END = 1000000  # active steps when no end is given, as in the trainer we follow


def _schedule(options: Options) -> _native.Schedule:
    """Schedule of the steps [start, end): warm-up in the step before, one cycle."""
    start = options.step_start or 0
    active = _TO_THE_END if options.step_end == -1 else options.step_end - start
    return _native.Schedule(
        wait=0,
        warmup=0 if start == 0 else 1,
        active=active,
        repeat=1,
        skip_first=max(0, start - 1),
        skip_first_wait=0,
    )


class Run:
    """Recording of this process. Make one after the framework's import, then ``begin()``.

    ``framework``: the one that was imported first; another may join. ``server``: the module that
    knows the server to which the process belongs, which reports the steps and starts sessions
    itself; None for other programs.
    """

    def __init__(self, framework: Framework, options: Options, server: Any = None) -> None:
        self._options = options
        self._server = server
        self._native_schedule = None if options.step_start is None else _schedule(options)
        self._settings: Settings = framework.settings(
            record_shapes=options.record_shapes,
            profile_memory=options.with_memory,
            with_stack=options.with_stack,
            with_modules=options.with_modules,
            markers=options.mstx,
            gc_threshold_ms=options.gc_threshold_ms,
            keep_last_seconds=options.keep_last_s,
            directory=os.path.abspath(options.save_path),
            config=_requested.standard(options, self._native_schedule, server is not None),
        )
        self._defaults = self._settings.config  # of sessions that are requested
        self._asked_metadata: dict[str, Any] = {}  # of the session that was requested
        self._recording = framework.recording(self._settings, self._facts)
        self._callbacks = StepCallbacks(
            self._step_begins,
            self._step_ends,
            self._loads_data,
            self._step_pauses,
            self._step_begins_beside,
            options.step_mark,
            self._step_rests,
        )
        self._hooks = [framework.hooks(self._callbacks)]
        self._step = 0
        self._rests = False  # the step that was marked last may go on
        self._marked = -1  # its number
        self._open: set[int] = set()  # threads that are in a step
        # Before this step nothing begins or ends, and none records: steps are only counted.
        self._next_change = self._native_schedule.skip_first if self._native_schedule else 0
        self._pid = os.getpid()
        self._watching = False  # steps go to the recorder's watched file
        self._unwanted = False  # the rank is known and not chosen, or the program decides itself
        self._yielded = False  # a profiler of the program marks the steps
        self._is_helper = False  # forked, and has taken no step of its own yet
        self._ends_with_child = False  # children of multiprocessing call _end_child()
        self._helps_rank = False  # forked by a rank
        self._machine = self._make_machine()

    def _make_machine(self) -> _machine.Machine:
        return _machine.Machine(
            {
                _machine.OP_INIT: lambda: None,
                _machine.OP_WARMUP: self._prepare,
                _machine.OP_START: self._start,
                _machine.OP_STOP: self._stop,
                _machine.OP_FINALIZE: lambda: None,
                _machine.OP_TRACE_READY: self._parse,
                _machine.OP_DELETE: self._recording.discard,
            },
            lambda text: None,  # the table's warnings are for schedules that people write
        )

    # Life of the process

    def begin(self) -> None:
        """Installs the step hooks and starts the recording if it is to start now. Raises
        ``NativeError``."""
        if self._server is not None:
            self._server.install(self._options, self._step_begins, self._step_ends)
            if self.leaves_it_to_the_program:
                _report.note("server", "")
        else:
            self._hooks[0].install()
        _native.recorder().add_listener(self._session_event)
        if self._options.on_request:
            self._guard_rank(self._wait_for_requests)
        elif self._native_schedule is not None:
            self._change(self._action())
        elif self._server is None:
            self._guard_rank(self._start)

    def joins_framework(self, framework: Framework) -> None:
        """The program has imported another framework: it is recorded, too, and has steps of its
        own."""
        framework.attach()
        if self._server is None:
            hooks = framework.hooks(self._callbacks)
            hooks.install()
            self._hooks.append(hooks)

    def joins_server(self, server: Any) -> None:
        """The program turned out to have a server in it: what runs is recorded on until the
        server's first session."""
        self._server = server
        server.install(self._options, self._step_begins, self._step_ends)
        server.before_session(self.yield_to_program)

    @property
    def options(self) -> Options:
        """What ``sonde run`` asked for."""
        return self._options

    @property
    def serves(self) -> bool:
        """Whether the process belongs to a server."""
        return self._server is not None

    @property
    def leaves_it_to_the_program(self) -> bool:
        """Whether a profiler of the program's own may decide when to record."""
        return not self._options.on_request and self._native_schedule is None

    def yield_to_program(self) -> None:
        """A profiler of the program begins: the recording of the whole program ends here."""
        if self._recording.active and not self._unwanted:
            _report.log("the program starts a profiler itself: its settings apply from here on")
            self._report_recording(self._recording.stop())
        self._unwanted = True
        self._yielded = self._server is None

    def wants_this_rank(self) -> bool:
        """Whether the command line chose the rank of this process, as far as it is known."""
        rank, source = _metadata.rank()
        return source == "none" or self._options.wants_rank(rank)

    def parse_window(self, path: str) -> None:
        """A capture of the program's profiler is whole: a server's is parsed at once."""
        if self._server is None and _report.has_launcher():
            return  # parses after the command

        def report(status: int) -> None:
            if status == 0:
                _report.log(f"parsed: {os.path.join(path, _analyse.OUTPUT_FOLDER)}")
            else:
                _report.log(f"not parsed, see {path}/logs/analyse.log", error=True)

        if self._server is None:
            _analyse.run_in_background([path], on_end=report)
        else:
            self._server.parse(path, report)

    def window_began(self, path: str) -> None:
        """The program's profiler began a capture. On the thread of a server's steps."""
        if self._server is None:
            return
        if self._open:
            _native.recorder().fast.sonde_step(self._step)  # its rest is marked
        self._server.joins(path)

    def end(self) -> None:
        """At exit: completes the capture; waits for parsers in the background."""
        if os.getpid() != self._pid:
            return
        self._end_sessions()
        for status in _analyse.wait_for_background():
            _report.log(
                f"sonde analyse ended with status {status}, see logs/analyse.log in the capture",
                error=True,
            )

    def _end_sessions(self) -> None:
        recorder = _native.recorder()
        if recorder.status().state == _native.STATE_PREPARED:
            self._recording.discard()
        elif recorder.features() != 0:
            self._end_recording()
        self._report_if_too_short()

    def _report_if_too_short(self) -> None:
        """Where the program ended before the first step that was to be recorded."""
        schedule = self._native_schedule
        steps = self._step + self._rests
        if schedule is None or steps >= schedule.skip_first + schedule.warmup:
            return
        if self._unwanted or self._is_helper or _metadata.role() != "main":
            return
        if self._server is not None and steps == 0:
            return  # one of a server's processes that have no steps
        what = f"ended after {steps} steps, before step {self._options.step_start}"
        _report.note("skipped", f"the program {what} (--profile-step-start)")
        _report.log(f"process {os.getpid()} {what}: nothing was recorded")

    def _end_recording(self) -> None:
        self._check_rank()
        if self._unwanted:
            return
        # The last step has not ended: it stays open in the capture.
        path = self._recording.stop()
        if self._is_helper or _report.has_launcher():
            return  # which parses after the command, also what was killed
        self._report_recording(path)
        if self._options.analyse and _metadata.role() == "main":
            _analyse.run([path])

    def forked(self) -> None:
        """In the child of a fork: a helper of this process until it takes steps of its own."""
        parent_rank, _ = _metadata.rank()
        _analyse.forget_background()
        if self._server is None:
            for hooks in self._hooks:
                hooks.renew()
        self._is_helper = self._server is None
        self._helps_rank = self._helps_rank or parent_rank >= 0
        self._pid = os.getpid()
        self._open.clear()
        self._end_with_child()
        _metadata.set_role("worker")
        recorder = _native.recorder()
        recorder.metadata("parent_rank", str(parent_rank))
        _metadata.write_process_facts()
        if recorder.features() != 0:
            _report.note("forked", self._settings.directory or "")

    def _end_with_child(self) -> None:
        """A child of multiprocessing ends by ``os._exit``: what is at exit does not run, but its
        finalizers do. They are cleared after the fork, then ``register_after_fork`` adds ours."""
        util = sys.modules.get("multiprocessing.util")
        if util is None or self._ends_with_child or self._server is not None:
            return
        self._ends_with_child = True  # in children of this one, too

        def add(run: "Run") -> None:
            util.Finalize(None, run._end_child, exitpriority=_LAST)

        util.register_after_fork(self, add)

    def _end_child(self) -> None:
        try:
            if os.getpid() == self._pid and self._server is None:
                self._end_sessions()
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            _report.log(f"recording may be incomplete: {problem}", error=True)

    def _take_own_steps(self) -> None:
        """A forked child trains or infers: a process like others, unless it does so for its rank
        (is not one itself by a group of its own) or loads data."""
        data = sys.modules.get("torch.utils.data")
        if data is not None and data.get_worker_info() is not None:
            return
        if self._helps_rank and _metadata.role() != "main":
            return
        self._is_helper = False
        if not self._helps_rank:
            _metadata.set_role("main")
        _metadata.write_process_facts()
        if _native.recorder().features() != 0:
            _report.note("process", "")

    def _loads_data(self) -> None:
        """This is a worker of a data loader; one that was not forked began like any program."""
        if self._is_helper:
            return
        self._is_helper = True
        _metadata.set_role("worker")
        _metadata.write_process_facts()
        if self._recording.active:
            _report.note("worker", self._recording.path)

    # Operations of the schedule

    def _prepare(self) -> None:
        self._guard_rank(self._recording.prepare)

    def _start(self) -> None:
        if self._unwanted:
            return
        self._recording.start()

    def _stop(self) -> None:
        if self._recording.active:
            self._recording.stop()

    def _parse(self) -> None:
        path = self._recording.path
        if not path:
            return
        self._report_recording(path)
        if self._options.analyse and _metadata.role() == "main":
            _analyse.run_in_background([path])

    def _report_recording(self, path: str) -> None:
        status = _native.recorder().status()
        lost = f", {status.dropped:,} lost" if status.dropped else ""
        rank, _ = _metadata.rank()
        who = f"rank {rank}: " if rank >= 0 else ""
        _report.log(f"{who}{status.records:,} records{lost} in {path}")

    def _session_event(self, event: int, options: str) -> None:
        """Called by the recorder for every session in this process, whoever starts it."""
        try:
            if event == _native.EVENT_START:
                self._note_capture(_native.recorder().session_path())
            requested = self._options.on_request and not self._recording.active
            if not requested:
                return
            if event == _native.EVENT_PREPARE:
                asked = _requested.read(options)
                self._settings.config = _requested.config(self._defaults, asked)
                self._asked_metadata = _requested.metadata(asked)
                for line in _requested.without_effect(asked):
                    _report.log(line)
                self._recording.write_facts()
            elif event == _native.EVENT_STOP:
                self._recording.write_facts()
                threading.Thread(target=self._parse_when_idle, daemon=True).start()
        except Exception as problem:  # noqa: BLE001: the caller is native code
            _report.log(f"recording may be incomplete: {problem}", error=True)

    def _note_capture(self, path: str) -> None:
        if self._server is not None and self._server.is_part(path):
            return  # what the server itself sums up
        _report.note("capture" if _metadata.role() == "main" else "worker", path)

    def _parse_when_idle(self) -> None:
        """After a request to stop: the files are whole when the recorder is idle again."""
        recorder = _native.recorder()
        path = recorder.session_path()
        while recorder.status().state == _native.STATE_RECORDING:
            time.sleep(_IDLE_POLL_S)
        self._report_recording(path)
        if self._options.analyse:
            _analyse.run_in_background([path])

    def _wait_for_requests(self) -> None:
        recorder, defaults = _native.recorder(), self._settings.session()
        if self._options.config_path is not None:
            recorder.dynamic_watch(self._options.config_path, defaults)
            _report.note("skipped", f"nothing was asked for in {self._options.config_path}")
            self._watching = True
        if self._options.daemon:
            daemon = _daemon.Watch(max(_metadata.local_rank(), 0))
            recorder.dynamic_watch(daemon.folder, defaults)
            daemon.begin()
            _report.note("skipped", "no request of the daemon came while the program ran")
            self._watching = True
        if self._options.control is not None:
            used = recorder.control_listen(self._options.control, defaults)
            _report.note("control", used)
            _report.log(f"process {os.getpid()} waits for POST /start_profile on {used}")

    # Ranks

    def _guard_rank(self, operation: Callable[[], Any]) -> None:
        rank, source = _metadata.rank()
        if source != "none" and not self._options.wants_rank(rank):
            self._unwanted = True
            _report.note("skipped", f"rank {rank} is not in the list of ranks")
            return
        operation()

    def _check_rank(self) -> None:
        """Removes the capture of a rank that turned out not to be chosen."""
        if self._unwanted or self._options.ranks == [-1] or _metadata.role() != "main":
            return
        rank, _ = _metadata.rank()
        if self._options.wants_rank(rank):
            return
        self._unwanted = True
        path = self._recording.path
        if _native.recorder().status().state != _native.STATE_IDLE:
            self._recording.discard()
            _report.note("discarded", path)
        _report.note("skipped", f"rank {rank} is not in the list of ranks")

    def _facts(self) -> dict[str, Any]:
        rank, _ = _metadata.rank()
        arguments: dict[str, Any] = {"rank": max(rank, 0)}
        arguments["world_size"] = max(_metadata.world_size(), 1)
        return {"user_metadata": {"distributed_args": arguments, **self._asked_metadata}}

    # Steps

    def _step_begins(self, number: Optional[int] = None) -> None:
        """``number``: where somebody counts for all processes."""
        if self._is_helper:
            self._take_own_steps()
        if not self._open and not self._yielded:
            if number is not None:
                self._step = number
            self._mark_step(self._step)

    def _step_begins_beside(self) -> None:
        """While other threads are in steps of their own; their numbers are in order of begin."""
        if threading.get_ident() not in self._open and not self._yielded:
            self._mark_step(self._step + len(self._open))

    def _mark_step(self, number: int) -> None:
        self._open.add(threading.get_ident())
        goes_on, self._rests = self._rests and number == self._marked, False
        self._marked = number
        if self._watching and not goes_on:  # which marks the step, too
            _native.recorder().slow.sonde_dynamic_step(number)
        else:
            _native.recorder().fast.sonde_step(number)

    def _step_pauses(self) -> None:
        """The step that runs is none after all: it begins again later, with its number."""
        if self._open and not self._yielded:
            self._open.clear()
            _native.recorder().fast.sonde_step(-2)

    def _step_rests(self) -> None:
        """Where it goes on it is marked again: an import joins parts of one number."""
        if self._yielded:
            return
        self._rests = True
        _native.recorder().fast.sonde_step(-1)
        thread = threading.get_ident()
        if thread in self._open:
            self._open.remove(thread)
        else:
            self._open.clear()  # it began on another one

    def _step_ends(self) -> None:
        if self._yielded:
            return
        if not self._rests:
            self._step_rests()
        self._rests = False
        self._step += 1
        if self._step < self._next_change:
            return
        self._check_rank()
        schedule = self._native_schedule
        if schedule is not None:
            self._change(self._action())
            if self._step >= schedule.skip_first + schedule.warmup + schedule.active:
                self._next_change = sys.maxsize  # its one cycle is over
        _metadata.note_groups()

    def _action(self) -> int:
        assert self._native_schedule is not None
        return _native.recorder().schedule_action(self._native_schedule, self._step)

    def _change(self, action: int) -> None:
        try:
            self._machine.change(action)
        except (_native.NativeError, OSError) as problem:
            _report.log(f"recording failed: {problem}", error=True)
            _report.note("failed", str(problem))


_current: "Optional[Run]" = None


def current_run() -> "Optional[Run]":
    """The recording of this process under ``sonde run``, None without."""
    return _current


def make_current(run: Run) -> None:
    """Reports which one it is; once a process."""
    global _current
    _current = run
