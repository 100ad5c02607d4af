"""What became of the sessions of a server, as its front-end knows it: for the status route, for
the header that names a session, and for those who wait until the files are there.

Threads: any.
"""

import contextvars
import os
import re
import threading
import time
from typing import Any, Optional

from sonde import _analyse
from sonde.vllm import _session

RECORDING, PARSING, COMPLETE, FAILED = "recording", "parsing", "complete", "failed"
UNPARSED = "not parsed"  # nobody wanted files

_KEPT = 100
_ABSOLUTE = re.compile(r"/(?:[^/\s'\"]+/)*([^/\s'\"]+)")
_POLL_S = 0.02
_WAIT_LIMIT_S = 600.0

_lock = threading.Lock()
_states: dict[str, str] = {}  # of the server's own part, by folder; the oldest first

#: The folders of the sessions that the current call began or ended.
named: "contextvars.ContextVar[Optional[list[str]]]" = contextvars.ContextVar(
    "sonde_sessions", default=None
)


def publish(folder: str, state: str) -> None:
    """The server's own part of a session is in this state from now on."""
    with _lock:
        _states[folder] = state
        while len(_states) > _KEPT:
            del _states[next(iter(_states))]
    _session.write_state(folder, state)
    names = named.get()
    if names is not None and folder not in names:
        names.append(folder)


def _ranks(folder: str) -> list[dict[str, str]]:
    """The captures of the session's ranks and whether they are parsed."""
    found = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".capture"))
    except OSError:
        return []  # removed since
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                span = os.path.normpath(os.path.join(folder, file.read().strip()))
        except OSError:
            continue  # removed since
        rank = {"folder": span, "state": _state_of(span)}
        if rank["state"] == FAILED:
            rank["reason"] = _analyse.failure_of(span)
        found.append(rank)
    return found


def _state_of(span: str) -> str:
    if _analyse.is_analysed(span):
        # Its files are there; the store is written behind them.
        return PARSING if _analyse.is_parsing(span) else COMPLETE
    return FAILED if _analyse.has_failed(span) else PARSING


def _describe(folder: str, own: str) -> dict[str, Any]:
    if own == RECORDING:  # another front-end may have been asked to stop
        own = _session.read_state(folder) or own
    ranks = _ranks(folder)
    if own in (RECORDING, UNPARSED):
        for rank in ranks:
            rank["state"] = own
        return {"folder": folder, "state": own, "ranks": ranks}
    states = {own, *(rank["state"] for rank in ranks)}
    worst = next(state for state in (PARSING, FAILED, COMPLETE) if state in states)
    return {"folder": folder, "state": worst, "ranks": ranks}


def sessions(directory: Optional[str] = None) -> list[dict[str, Any]]:
    """The last sessions, the newest last: folder, state, and the same of each rank's capture.
    ``directory``: where those lie that other front-ends of this server began and ended."""
    with _lock:
        states = dict(_states)
    for folder in _others(directory):
        states[folder] = states.pop(folder, RECORDING)
    return [_describe(folder, own) for folder, own in list(states.items())[-_KEPT:]]


def without_paths(described: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same sessions for somebody to whom this machine's paths are none of his business."""
    shown = []
    for session in described:
        ranks = []
        for rank in session["ranks"]:
            ranks.append({**rank, "folder": os.path.basename(rank["folder"])})
            if "reason" in rank:
                reason = rank["reason"].replace(os.path.dirname(rank["folder"]) + os.sep, "")
                ranks[-1]["reason"] = _ABSOLUTE.sub(r"\1", reason)
        shown.append({**session, "folder": os.path.basename(session["folder"]), "ranks": ranks})
    return shown


def _others(directory: Optional[str]) -> list[str]:
    try:
        return _session.of_server(directory)[-_KEPT:] if directory else []
    except OSError:
        return []  # no session yet


def unparsed() -> list[str]:
    """Captures of ranks that nobody will parse: their session goes on, or their parser ended."""
    return [
        rank["folder"]
        for session in sessions()
        for rank in session["ranks"]
        if rank["state"] in (RECORDING, FAILED)
    ]


def wait(folder: str) -> bool:
    """Blocks until the files of a session are there, or cannot be made; whether that was so within
    ten minutes."""
    end = time.monotonic() + _WAIT_LIMIT_S
    while time.monotonic() < end:
        with _lock:
            own = _states.get(folder)
        if own is None or _describe(folder, own)["state"] != PARSING:
            return True
        time.sleep(_POLL_S)
    return False
