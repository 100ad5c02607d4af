"""What Sonde adds to the HTTP side of a server's profiling.

``GET /profile_status`` lists the sessions; the answers of ``/start_profile`` and ``/stop_profile``
name theirs in the header ``sonde-session`` (two stops in a row are both 200: it names the one that
made the files). Who asks from another machine gets names of folders instead of paths.
"""

import ipaddress
import json
import os
from typing import Any, Optional

from sonde import _report
from sonde.vllm import _status
from sonde.vllm._capture import trace_folder

STATUS_PATH = "/profile_status"
HEADER = b"sonde-session"
_FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
_ACTIONS = ("/start_profile", "/stop_profile")
_MISSING = (
    "this server has no /start_profile: start it without --no-profile-routes, or with "
    '--profiler-config \'{"profiler":"torch","torch_profiler_dir":"FOLDER"}\''
)


class ProfileRoutes:
    """ASGI middleware."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._reported_missing = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "") if scope["type"] == "http" else ""
        if path.endswith(STATUS_PATH) and scope.get("method") == "GET":
            sessions = _status.sessions(_directory(scope))
            if not _is_of_this_machine(scope):
                sessions = _status.without_paths(sessions)
            await _answer(send, {"sessions": sessions})
        elif path.endswith(_ACTIONS):
            await self._name_session(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _name_session(self, scope: Any, receive: Any, send: Any) -> None:
        names: list[str] = []
        token = _status.named.set(names)

        async def our_send(message: Any) -> None:
            if message["type"] == "http.response.start" and message.get("status") == 404:
                self._report_missing()
            if message["type"] == "http.response.start" and names:
                is_ours = _is_of_this_machine(scope)
                name = names[-1] if is_ours else os.path.basename(names[-1])
                value = name.encode("utf-8", "surrogateescape")
                message = {**message, "headers": [*message.get("headers", ()), (HEADER, value)]}
            await send(message)

        try:
            await self._app(scope, receive, our_send)
        finally:
            _status.named.reset(token)

    def _report_missing(self) -> None:
        if not self._reported_missing:
            self._reported_missing = True
            _report.note("lost", f"sessions of the server: {_MISSING}")
            _report.log(_MISSING, error=True)


def _is_of_this_machine(scope: Any) -> bool:
    """Whether who asks sits on the server's machine, where paths mean something: others learn
    the names of folders, and not where they lie. A proxy asks for others."""
    if any(name.lower() in _FORWARDED for name, _ in scope.get("headers") or ()):
        return False
    client = scope.get("client")
    if client is None:  # a Unix socket
        return True
    try:
        return ipaddress.ip_address(str(client[0])).is_loopback
    except ValueError:
        return False


def _directory(scope: Any) -> Optional[str]:
    """Where the sessions of all front-ends of the server lie."""
    engine = getattr(getattr(scope.get("app"), "state", None), "engine_client", None)
    return trace_folder(getattr(engine, "vllm_config", None))


async def _answer(send: Any, content: Any) -> None:
    body = json.dumps(content).encode("utf-8", "replace") + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
