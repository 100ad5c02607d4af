"""The capture of a process of a server that computes nothing: its ranges, counters and flows.

Whatever fails costs one line: the server serves.
"""

import os
from typing import Any, Callable, Optional

from sonde import _analyse, _native, _report
from sonde._inject._options import Options
from sonde.torch._recording import Recording, Settings
from sonde.vllm import _configuration, _marks, _session, _status
from sonde.vllm._collections import Collections


def trace_folder(vllm_config: Any) -> Optional[str]:
    """Where the server's configuration wants traces, None where it wants none."""
    if _configuration.other_profiler(vllm_config):
        return os.path.abspath(options.save_path)
    config = getattr(vllm_config, "profiler_config", None)
    folder = getattr(config, "torch_profiler_dir", None) if config is not None else None
    folder = folder or os.environ.get("VLLM_TORCH_PROFILER_DIR")
    if not folder or "://" in folder:
        return None
    return os.path.abspath(os.path.expanduser(folder))


def served_model(vllm_config: Any) -> Optional[str]:
    """By which name clients ask for the model; of several the first."""
    names = getattr(getattr(vllm_config, "model_config", None), "served_model_name", None)
    if isinstance(names, (list, tuple)):
        names = names[0] if names else None
    return names if isinstance(names, str) else None


_UNTIL_ANSWERED_S = 0.05

#: The switches of this process.
options = Options()

#: Ends what else records this process.
before_session: Optional[Callable[[], None]] = None


class ProcessCapture:
    """Starts and stops; a second start or stop does nothing. One thread at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recording: Optional[Recording] = None
        self._collections = Collections()
        self.session: Optional[str] = None
        #: Of the capture's metadata.
        self.facts = {"server_part": name}
        #: Whether the engine's session began and has not been asked to stop.
        self.is_begun = False

    def start(self, session: Optional[str]) -> None:
        """Records into the folder of the session."""
        self.session = session
        if session is None or self._recording is not None:
            return
        if before_session is not None:
            before_session()
        if _native.recorder().status().state != _native.STATE_IDLE:
            return  # a worker in this process records everything
        settings = Settings(
            operators=False,
            markers=True,
            domain_include=[_marks.DOMAIN],
            directory=session,
            worker_name=self._name,
        )
        recording = Recording(settings, lambda: dict(self.facts))
        try:
            recording.start()
            self._recording = recording
            self._collections.start()
        except (_native.NativeError, OSError) as problem:
            _report.log(f"{self._name} is not recorded: {problem}", error=True)

    def stop(self) -> None:
        """Ends the capture; it is safe on disk then."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        self._collections.stop()
        try:
            recording.stop()
        except (_native.NativeError, OSError) as problem:
            _report.log(f"the recording of {self._name} is incomplete: {problem}", error=True)


def parse(path: str, on_end: Callable[[int], None]) -> None:
    """Starts a parser once the request to stop has been answered: until then all processes of the
    server have something to do for it, and the others' requests wait."""
    _analyse.run_in_background(
        [path], on_end=on_end, processors=_session.processors(), delay_s=_UNTIL_ANSWERED_S
    )


def analyse(session: Optional[str]) -> None:
    """Makes the store of the whole server and the summary, in a process of low priority."""
    if session is None:
        return
    if not options.analyse:
        _status.publish(session, _status.UNPARSED)
        return
    _status.publish(session, _status.PARSING)

    def report(status: int) -> None:
        _status.publish(session, _status.COMPLETE if status == 0 else _status.FAILED)
        if status == 0:
            _report.log(f"served: {session}")
        else:
            _report.log(f"no summary, see {session}/logs/analyse.log", error=True)

    try:
        parse(session, report)
    except (_native.NativeError, OSError) as problem:
        _status.publish(session, _status.FAILED)
        _report.log(f"no summary: {problem}", error=True)


def await_files(session: Optional[str]) -> None:
    """Where the user wants to wait: until the files of the session and its ranks are there."""
    if session is not None and options.wait and not _status.wait(session):
        _report.log(f"timed out waiting for the files of {session}", error=True)
