"""Sessions that no front-end of ours takes part in: the engine ends them.

Front-ends that run no Python of vLLM's (its Rust program), or run in another server (``--headless``
engines), ask for sessions all the same. What the engine knows is recorded; one line names what is
not, and why. Threads: the engine's.
"""

import os
from typing import Optional

from sonde import _report
from sonde.vllm import _capture, _configuration, _session

_HEADLESS = "SONDE_SERVER_HEADLESS"
_RUST = "VLLM_USE_RUST_FRONTEND"

_LOST = (
    "when requests reached the server, were tokenized and left it is not recorded in this session, "
    "nor what was refused: {why}. Times count from the engine's: TTFT from the arrival that the "
    "front-end gave it, tokens as they leave it"
)
_NO_WAIT = "; --profile-wait has no effect here, since the engine would wait, too"


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


def finish(session: Optional[str], engine: int) -> None:
    """In each engine that was asked to stop: the last one sums the session up, unless a front-end
    that takes part in it does."""
    if session is None or _session.has_front_end(session):
        return
    if not _session.stop_engine(session, engine) or not _session.end(session):
        return
    why = reason() or "no front-end with Sonde in it took part"
    text = _LOST.format(why=why) + (_NO_WAIT if _capture.options.wait else "")
    _report.log(f"{session}: {text}")
    _capture.analyse(session)
