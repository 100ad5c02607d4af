"""What ties the captures of one server session together: a folder of its own.

``[prefix_]server_<pid>_<begin>_<n>`` in the folder of the traces holds the captures of the
processes that compute nothing (``engine0_...``, ``api_...``) and a file ``<capture>.capture`` for
each rank, with the path of its capture from here. The engine makes it before the ranks are asked to
start; the others look for the newest of their server. What several front-ends of a server have to
know of each other is in it, too: that it has ended, and how.
"""

import contextlib
import os
import re
import time
from typing import Optional

from sonde._new_file import create_new

_SERVER_ID = "SONDE_SERVER_ID"
_PROCESSORS = "SONDE_SERVER_PROCESSORS"

#: Marks a folder that holds a session; the importer looks for it.
MARK_FILE = "session.sonde_server"

_ENDED_FILE = "session.ended"
_STATE_FILE = "session.state"
_ENGINE_FILE = "session.engine"  # and its number
_STOPPED_FILE = "session.stopped"  # the same
_FRONT_END_FILE = "session.front_end"

_number = 0
_ended: set[str] = set()  # by this process, where no file could record it


def name_server() -> None:
    """In each process of a server, before any session; the first one gives the name."""
    if _SERVER_ID not in os.environ:
        begin = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        os.environ[_SERVER_ID] = f"{os.getpid()}_{begin}"
        # A session that nobody stops must not fill the disk; 0 is no limit.
        os.environ.setdefault("SONDE_PROFILE_MAX_SIZE", "4G")
        os.environ.setdefault("SONDE_PROFILE_MAX_SECONDS", "1800")
        os.environ[_PROCESSORS] = ",".join(map(str, sorted(os.sched_getaffinity(0))))


def processors() -> set[int]:
    """Where the first process of the server may run. Its ranks are bound to a few processors, which
    they keep busy even while they wait: no place for parsing."""
    return {int(number) for number in os.environ.get(_PROCESSORS, "").split(",") if number}


def _server() -> str:
    return os.environ.get(_SERVER_ID, str(os.getpid()))


def begin(directory: str, prefix: Optional[str] = None, engine: int = 0) -> str:
    """In the engine, where every session begins: the folder of a new one. The engines of a
    data-parallel server come to the same; the next ``LLM(...)`` of a program does not."""
    global _number
    mark = f"{_ENGINE_FILE}{engine}"
    os.makedirs(directory, mode=0o750, exist_ok=True)
    for number, path in _numbered(directory):
        if os.path.exists(os.path.join(path, mark)):
            _number = max(_number, number)
    _number += 1
    name = f"server_{_server()}_{_number}"
    path = os.path.join(directory, f"{prefix}_{name}" if prefix else name)
    os.makedirs(path, mode=0o750, exist_ok=True)
    for file in (MARK_FILE, mark):
        _write(os.path.join(path, file), f"{_server()} {_number}\n")
    return path


def _numbered(directory: str) -> list[tuple[int, str]]:
    pattern = re.compile(rf"(?:.+_)?server_{re.escape(_server())}_(\d+)")
    found = []
    for name in os.listdir(directory):
        match = pattern.fullmatch(name)
        if match:
            found.append((int(match[1]), os.path.join(directory, name)))
    return sorted(found)


def of_server(directory: str) -> list[str]:
    """The folders of the server's sessions, the newest last."""
    return [path for _, path in _numbered(directory)]


def current(directory: str) -> Optional[str]:
    """In the other processes: the folder of the server's last session, None where none began."""
    found = of_server(directory)
    return found[-1] if found else None


def end(session: str) -> bool:
    """In the front-end that is asked to stop: whether no other one has ended the session."""
    try:
        with open(os.path.join(session, _ENDED_FILE), "x", encoding="utf-8"):
            return session not in _ended
    except FileExistsError:
        return False
    except OSError:  # a full disk: the others cannot know
        is_first = session not in _ended
        _ended.add(session)
        return is_first


def join_front_end(session: str) -> None:
    """A front-end of ours takes part: it will end the session. On a full disk, any may."""
    with contextlib.suppress(OSError):
        _write(os.path.join(session, _FRONT_END_FILE), f"{os.getpid()}\n")


def has_front_end(session: str) -> bool:
    """Whether one of ours takes part."""
    return os.path.exists(os.path.join(session, _FRONT_END_FILE))


def stop_engine(session: str, engine: int) -> bool:
    """An engine was asked to stop: whether all that began the session have been by now."""
    with contextlib.suppress(OSError):  # a full disk: this one's word is enough
        _write(os.path.join(session, f"{_STOPPED_FILE}{engine}"), f"{os.getpid()}\n")
    found: dict[str, set[str]] = {_ENGINE_FILE: set(), _STOPPED_FILE: {str(engine)}}
    for name in os.listdir(session):
        for kind, numbers in found.items():
            if name.startswith(kind):
                numbers.add(name.removeprefix(kind))
    return found[_ENGINE_FILE] <= found[_STOPPED_FILE]


def is_first(session: str, what: str) -> bool:
    """Whether nobody did this in the session before."""
    try:
        with open(os.path.join(session, f"session.{what}"), "x", encoding="utf-8"):
            return True
    except OSError:  # also on a full disk
        return False


def state_file(session: str) -> str:
    """Where the state of a session is, for those who cannot ask a route."""
    return os.path.join(session, _STATE_FILE)


def write_state(session: str, state: str) -> None:
    """For the other front-ends of the server."""
    path = state_file(session)
    with contextlib.suppress(OSError):  # then only this process knows
        _write(f"{path}.{os.getpid()}", f"{state}\n")
        os.replace(f"{path}.{os.getpid()}", path)


def read_state(session: str) -> str:
    """What the last front-end wrote, empty where there is nothing."""
    try:
        with open(state_file(session), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", opener=create_new) as file:
        file.write(text)


def add_capture(session: str, span: str) -> None:
    """Records the path of a rank's capture."""
    name = os.path.basename(span)
    _write(os.path.join(session, f"{name}.capture"), os.path.relpath(span, session) + "\n")
