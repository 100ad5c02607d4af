"""Changes to ``LLM`` in a program: its sessions, and one of the whole engine's life under ``sonde
run`` where the program configured no profiler.

That one begins when the engine is there and ends with it or with the program; a session that the
program starts itself takes its place.
"""

import atexit
import weakref
from typing import Any

from sonde import _report
from sonde._seams import Around, Part, Seam
from sonde.vllm import _capture, _configuration, _front_end

_WHOLE = "_sonde_whole"  # attribute of an engine: the session of its whole life runs


_OLD_ENGINE = (
    "this vLLM runs its old engine (V0), whose steps and requests are not recorded: operators and "
    "modules are; VLLM_USE_V1=1 starts the other one where it can"
)


def seams() -> tuple[Seam, ...]:
    """Of a program with ``LLM(...)``, and of any with an engine of before."""
    return (
        Seam(
            "engine of before",
            "vllm.engine.llm_engine",
            (Part("LLMEngine.__init__", _say_old),),
            until=(0, 11),
            is_extra=True,
        ),
        Seam(
            "sessions of LLM(...)",
            "vllm.v1.engine.llm_engine",
            (
                Part("LLMEngine.__init__", _make),
                Part("LLMEngine.start_profile", _start_profile),
                Part("LLMEngine.stop_profile", _stop_profile),
                Part("LLMEngine.__del__", _end_whole, optional=True),
            ),
        ),
    )


def _say_old(self: Any, *_: Any, **__: Any) -> None:
    if type(self).__module__ != "vllm.engine.llm_engine":
        return  # the name is that of the new engine, too
    _report.log(_OLD_ENGINE, error=True)
    _report.note("lost", f"engine steps and requests: {_OLD_ENGINE}")


def _make(self: Any, vllm_config: Any, *_: Any, **__: Any) -> Around:
    is_ours = _is_asked_for() and _configuration.fill(vllm_config, _capture.options)
    yield
    if is_ours:
        _record_whole(self)


def _start_profile(self: Any, *_: Any, **__: Any) -> Around:
    _end_whole(self)
    yield
    # The engine may be in this process, and is recorded with it then.
    _front_end.begin(self, not hasattr(getattr(self, "engine_core", None), "engine_core"))


def _stop_profile(self: Any, *_: Any, **__: Any) -> Around:
    self.__dict__.pop(_WHOLE, None)
    session = None
    try:
        yield
    finally:
        session = _front_end.finish(self)
    _capture.await_files(session)


def _is_asked_for() -> bool:
    """Whether ``sonde run`` is to record the whole program."""
    options = _capture.options
    return _report.has_launcher() and not options.on_request and options.step_start is None


def _record_whole(engine: Any) -> None:
    try:
        engine.start_profile()
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _report.log(f"the engine is not recorded: {problem}", error=True)
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
        _report.log(f"the engine ended before its recording: {problem}", error=True)
