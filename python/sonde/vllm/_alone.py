"""Sessions that no front-end of ours takes part in: the engine ends them.

Front-ends that run no Python of vLLM's (its Rust program), or run in another server (``--headless``
engines), ask for sessions all the same. What the engine knows is recorded; one line names what is
not, and why. Threads: the engine's.
"""

import functools
import os
import threading
from concurrent.futures import Future
from typing import Any, Callable, Optional

from sonde import _report
from sonde.vllm import _capture, _configuration, _session, _status

_HEADLESS = "SONDE_SERVER_HEADLESS"
_RUST = "VLLM_USE_RUST_FRONTEND"

_LOST = (
    "when requests reached the server, were tokenized and left it is not recorded in this session, "
    "nor what was refused: {why}. Times count from the engine's: TTFT from the arrival that the "
    "front-end gave it, tokens as they leave it"
)
_STATE = (
    "{why}. /profile_status and the header sonde-session are not answered there: {file} has the "
    "state of a session ({states})"
)
_NO_HTTP = "the front-end has no HTTP server of vLLM's Python"
_NO_WAIT = "; --profile-wait has no effect, since this release's engine cannot answer later"


def is_headless(words: "list[str]", file: str) -> bool:
    """Whether the command, or its ``--config`` file, starts engines only."""
    given = _configuration.value_of([], file, "headless").lower()
    return "--headless" in words or given == "true"


def mark_headless() -> None:
    """For the processes that the first one starts."""
    os.environ[_HEADLESS] = "1"


def has_headless_mark() -> bool:
    """Whether this server has engines, or ranks of them, and no front-end."""
    return os.environ.get(_HEADLESS) == "1"


def reason() -> Optional[str]:
    """Why no front-end of this server runs vLLM's Python, None where one is expected."""
    if has_headless_mark():
        return "with --headless the front-end is another server's"
    if os.environ.get(_RUST, "0").strip() not in ("", "0"):
        return f"the front-end is vLLM's Rust program ({_RUST}=1), which Sonde does not change"
    return None


_reported = False
_answers_later = False  # this release's engine can
_awaited: Optional[str] = None  # the session whose files the current call waits for


def begin(session: str) -> None:
    """In the engine, at the begin of a session."""
    _session.write_state(session, _status.RECORDING)
    why = reason()
    if why is not None:
        report_state(session, why)


def report_state(session: str, why: str = _NO_HTTP) -> None:
    """Once: where the state of sessions is, whose front-end does not answer that."""
    global _reported
    if not _reported and _session.is_first(session, "reported"):
        states = ", ".join((_status.RECORDING, _status.PARSING, _status.COMPLETE, _status.FAILED))
        _report.log(_STATE.format(why=why, file=_session.state_file(session), states=states))
    _reported = True


def answer_later(invoke: Callable[..., Any]) -> Callable[..., Any]:
    """Instead of what an engine does for a call of its front-end: where the files are awaited
    (``--profile-wait``), the answer to a stop is a promise, so that the engine goes on."""
    global _answers_later
    _answers_later = True

    @functools.wraps(invoke)
    def call(name: str, get_result: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        if name != "profile":
            return invoke(name, get_result, *args, **kwargs)
        return invoke(name, lambda: _with_files(get_result()), *args, **kwargs)

    return call


def _with_files(result: Any) -> Any:
    """The result, or a promise of it."""
    global _awaited
    session, _awaited = _awaited, None
    if session is None:
        return result
    promise: Future[Any] = Future()

    def keep() -> None:
        try:
            _capture.await_files(session)
        finally:
            promise.set_result(result)

    threading.Thread(target=keep, name="sonde files", daemon=True).start()
    return promise


def finish(session: Optional[str], engine: int) -> None:
    """In each engine that was asked to stop: the last one sums the session up, unless a front-end
    that takes part in it does."""
    global _awaited
    if session is None or _session.has_front_end(session):
        return
    if not _session.stop_engine(session, engine) or not _session.end(session):
        return
    why = reason() or "no front-end with Sonde in it took part"
    waits = _capture.options.wait
    text = _LOST.format(why=why) + (_NO_WAIT if waits and not _answers_later else "")
    _report.log(f"{session}: {text}")
    _capture.analyse(session)
    if waits and _answers_later:
        _awaited = session
