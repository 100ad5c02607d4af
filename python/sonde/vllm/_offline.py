"""Changes to ``LLM`` in a program: its sessions, and one of the whole engine's life under ``sonde
run`` where the program configured no profiler.

That one begins when the engine is there and ends with it or with the program; a session that the
program starts itself takes its place.
"""

import atexit
import functools
import weakref
from typing import Any

from sonde._inject import _report
from sonde.vllm import _capture, _configuration, _front_end

_WHOLE = "_sonde_whole"  # attribute of an engine: the session of its whole life runs


def change_offline(module: Any) -> None:
    """``vllm.v1.engine.llm_engine``."""
    front_end = module.LLMEngine
    make, start, stop = front_end.__init__, front_end.start_profile, front_end.stop_profile
    delete = getattr(front_end, "__del__", None)

    @functools.wraps(make)
    def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
        is_ours = _is_asked_for() and _configuration.fill(vllm_config, _capture.options)
        make(self, vllm_config, *args, **kwargs)
        if is_ours:
            _record_whole(self)

    @functools.wraps(start)
    def start_profile(self: Any, *args: Any, **kwargs: Any) -> Any:
        _end_whole(self)
        result = start(self, *args, **kwargs)
        # The engine may be in this process, and is recorded with it then.
        _front_end.begin(self, not hasattr(getattr(self, "engine_core", None), "engine_core"))
        return result

    @functools.wraps(stop)
    def stop_profile(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.__dict__.pop(_WHOLE, None)
        try:
            result = stop(self, *args, **kwargs)
        finally:
            session = _front_end.finish(self)
        _capture.await_files(session)
        return result

    def __del__(self: Any) -> None:
        _end_whole(self)
        if delete is not None:
            delete(self)

    front_end.__init__, front_end.__del__ = __init__, __del__
    front_end.start_profile, front_end.stop_profile = start_profile, stop_profile


def _is_asked_for() -> bool:
    """Whether ``sonde run`` is to record the whole program."""
    options = _capture.options
    return _report.has_launcher() and not options.on_request and options.step_start is None


def _record_whole(engine: Any) -> None:
    if _configuration.of_environment():
        return  # its old variables: the program starts sessions itself
    try:
        engine.start_profile()
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _report.say(f"the engine is not recorded: {problem}", error=True)
        return
    setattr(engine, _WHOLE, True)
    place = weakref.ref(engine)
    atexit.register(lambda: _end_whole(place()))


def _end_whole(engine: Any) -> None:
    if engine is None or not getattr(engine, _WHOLE, False):
        return
    try:
        engine.stop_profile()
    except Exception as problem:  # noqa: BLE001: the engine may have ended before
        _report.say(f"the engine ended before its recording: {problem}", error=True)
