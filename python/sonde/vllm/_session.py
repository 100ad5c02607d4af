"""What ties the captures of one server session together: a folder of its own.

``[prefix_]server_<pid>_<begin>_<n>`` in the folder of the traces holds the captures of the
processes that compute nothing (``engine0_...``, ``api_...``) and a file ``<capture>.capture`` for
each rank, with the path of its capture from here. The engine makes it before the ranks are told to
start; the others look for the newest of their server.
"""

import os
import re
import time
from typing import Optional

_SERVER_ID = "SONDE_SERVER_ID"
_PROCESSORS = "SONDE_SERVER_PROCESSORS"

#: Says that a folder holds a session; the importer looks for it.
MARK_FILE = "session.sonde_server"

_number = 0


def name_server() -> None:
    """In each process of a server, before any session; the first one gives the name."""
    if _SERVER_ID not in os.environ:
        begin = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        os.environ[_SERVER_ID] = f"{os.getpid()}_{begin}"
        os.environ[_PROCESSORS] = ",".join(map(str, sorted(os.sched_getaffinity(0))))


def processors() -> set[int]:
    """Where the first process of the server may run. Its ranks are bound to a few processors, which
    they keep busy even while they wait: no place for parsing."""
    return {int(number) for number in os.environ.get(_PROCESSORS, "").split(",") if number}


def _server() -> str:
    return os.environ.get(_SERVER_ID, str(os.getpid()))


def begin(directory: str, prefix: Optional[str] = None) -> str:
    """In the engine, where every session begins: the folder of a new one."""
    global _number
    _number += 1
    name = f"server_{_server()}_{_number}"
    path = os.path.join(directory, f"{prefix}_{name}" if prefix else name)
    os.makedirs(path, mode=0o750, exist_ok=True)
    with open(os.path.join(path, MARK_FILE), "w", encoding="utf-8") as file:
        file.write(f"{_server()} {_number}\n")
    return path


def current(directory: str) -> Optional[str]:
    """In the other processes: the folder of the server's last session, None where none began."""
    pattern = re.compile(rf"(?:.+_)?server_{re.escape(_server())}_(\d+)")
    best, found = 0, None
    for name in os.listdir(directory):
        match = pattern.fullmatch(name)
        if match and int(match[1]) > best:
            best, found = int(match[1]), os.path.join(directory, name)
    return found


def add_capture(session: str, span: str) -> None:
    """Says where the capture of a rank lies."""
    name = os.path.basename(span)
    with open(os.path.join(session, f"{name}.capture"), "w", encoding="utf-8") as file:
        file.write(os.path.relpath(span, session) + "\n")
