"""Changes to the front-end of a vLLM server: requests from their arrival to the last byte, and the
sessions.

A request over HTTP is one range "request", which begins when its head has arrived and ends with
the answer. Each output of the engine and each piece that is sent is a moment of it.
"""

import asyncio
import atexit
import contextvars
import os
import time
from typing import Any, Optional

from sonde import _native, _report
from sonde._seams import Around, AsyncAround, Part, Seam
from sonde.vllm import (
    _alone,
    _capture,
    _configuration,
    _http_headers,
    _marks,
    _session,
    _status,
)
from sonde.vllm._capture import ProcessCapture, analyse, served_model, trace_folder
from sonde.vllm._delivery import Delivery, transport_of
from sonde.vllm._loop_lag import LoopLag
from sonde.vllm._routes import ProfileRoutes

#: Of this process's loop.
lag = LoopLag()

_current: "contextvars.ContextVar[Optional[_HttpRequest]]" = contextvars.ContextVar(
    "sonde_request", default=None
)


_has_routes = False  # an HTTP server of vLLM's Python was made


class _HttpRequest:
    """One call of the API: its requests in the engine are known once the prompt is tokenized."""

    def __init__(self, native: _native.Recorder, scope: Any, receive: Any = None) -> None:
        self._arrival_ns = time.monotonic_ns()
        #: What its client had waited for the loop before.
        self.waited_ns = lag.waited_ns(receive)
        self.range = _marks.start(native, "request")
        self.keys: list[int] = []
        #: By what its client finds it again.
        self.headers = _http_headers.facts_of(scope)

    def age_ns(self) -> int:
        """Time since its arrival."""
        return time.monotonic_ns() - self._arrival_ns


class RequestTimes:
    """ASGI middleware: arrival and end of requests, and each piece of a stream."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        native = _marks.recorder() if scope["type"] == "http" else None
        is_profiling = scope.get("path", "").endswith("_profile")  # itself no work of the server
        if native is None or is_profiling or scope.get("method") != "POST":
            await self._app(scope, receive, send)
            return
        request = _HttpRequest(native, scope, receive)
        token = _current.set(request)
        streams = False

        async def our_send(message: Any) -> None:
            nonlocal streams
            await send(message)
            if message["type"] == "http.response.start":
                streams = _is_stream(message)
                if message.get("status", 0) >= 400:
                    _record_refused(request, message["status"])
            elif streams and message.get("body"):
                _record_sent(request)

        try:
            await self._app(scope, receive, our_send)
        finally:
            _current.reset(token)
            _end(request, transport_of(receive))


def _is_stream(message: Any) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message.get("headers", ())
    )


def _record_sent(request: _HttpRequest) -> None:
    native = _marks.recorder()
    if native is not None and request.keys:
        with _marks.Range(native, "send") as mark:
            for key in request.keys:
                mark.arrives("sent", key)


def _record_refused(request: _HttpRequest, status: int) -> None:
    """The server took nothing in: the request is one that ended as it came."""
    native = _marks.recorder()
    if native is None or request.keys:
        return
    name = f"refused {os.getpid()} {request.range}"
    key = _marks.request_key(name)
    request.keys.append(key)
    facts = {"request": name, "key": key, "age_ns": request.age_ns(), "range": request.range}
    _marks.mark(native, "request arrived", {**facts, **request.headers})
    _marks.mark(native, "request ended", {"key": key, "reason": f"refused: {status}"})


def _end(request: _HttpRequest, transport: Any) -> None:
    native = _marks.recorder()
    if native is None:
        return
    _record_all(native, "answered", request)
    _marks.end(native, request.range)
    if request.keys:
        Delivery(transport, lambda: _record_delivered(request))


def _record_delivered(request: _HttpRequest) -> None:
    native = _marks.recorder()
    if native is not None:
        _record_all(native, "delivered", request)


def _record_all(native: _native.Recorder, what: str, request: _HttpRequest) -> None:
    with _marks.Range(native, what) as mark:
        for key in request.keys:
            mark.arrives(what, key)


def seams() -> tuple[Seam, ...]:
    """Of the process that talks to clients."""
    output, engine = "vllm.v1.engine.output_processor", "vllm.v1.engine.async_llm"
    return (
        # Those that took it over before a plug-in is called keep the original.
        Seam(
            "requests over HTTP",
            ("vllm.entrypoints.launchers.app", "vllm.entrypoints.launchers.api_server.entry",
             "vllm.entrypoints.openai.api_server"),
            (Part("build_app", _build),),
        ),
        Seam(
            "requests and their outputs",
            output,
            (
                Part("OutputProcessor.add_request", _add),
                Part("RequestState.make_request_output", _make),
                Part("OutputProcessor.propagate_error", _record_error, optional=True),
            ),
        ),
        Seam(
            "sessions of the front-end",
            engine,
            (
                Part("AsyncLLM.start_profile", _start_profile),
                Part("AsyncLLM.stop_profile", _stop_profile),
            ),
        ),
    )  # fmt: skip


def _build(*_: Any, **__: Any) -> Around:
    _watch((yield))


def _watch(app: Any) -> None:
    """Puts our middleware around all others; the list of them may be closed already. The engine is
    up: the server answers from here on."""
    global _has_routes
    _has_routes = True
    _report.note("answers", "")
    for middleware in (ProfileRoutes, RequestTimes):
        if app.middleware_stack is None:
            app.add_middleware(middleware)
        else:
            app.middleware_stack = middleware(app.middleware_stack)


def _add(self: Any, request: Any, *args: Any, **kwargs: Any) -> None:
    native = _marks.recorder()
    if native is None:
        return
    _record_arrival(native, request)
    if _capture.options.request_text:
        prompt = args[0] if args else kwargs.get("prompt")
        _marks.texts(native, "prompt", request.request_id, prompt)


def _make(self: Any, new_token_ids: Any, *args: Any, **kwargs: Any) -> Around:
    native = _marks.recorder()
    if native is None:
        return
    _record_known(native, self, len(new_token_ids))
    yield
    reason = _reason_of(args, kwargs)
    _record_output(native, self.request_id, len(new_token_ids), reason)
    if reason is not None and _capture.options.request_text:
        text = getattr(self.detokenizer, "output_text", None)
        _marks.texts(native, "answer", self.request_id, text)


def _record_known(native: _native.Recorder, state: Any, new: int) -> None:
    """At the first output of a request in a session: how many tokens came before it, -1 where this
    release does not report it."""
    session = native.features_word()
    if state.__dict__.get("_sonde_session") == session or not new:
        return
    state._sonde_session = session
    count = getattr(getattr(state, "detokenizer", None), "num_output_tokens", None)
    before = count() - new if callable(count) else -1
    if before != 0:
        facts = {"key": _marks.request_key(state.request_id), "output_tokens": before}
        _marks.mark(native, "request known", facts)


def _record_error(self: Any, *_: Any, **__: Any) -> None:
    """The engine died: what its clients get from here on is an error."""
    native = _marks.recorder()
    if native is None:
        return
    for name in self.request_states:
        facts = {"key": _marks.request_key(name), "reason": "engine died"}
        _marks.mark(native, "request ended", facts)


def _reason_of(args: Any, kwargs: Any) -> Any:
    """Its place among the arguments differs between releases."""
    given = (arg for arg in args if type(arg).__name__ == "FinishReason")
    return kwargs.get("finish_reason", next(given, None))


def _record_arrival(native: _native.Recorder, request: Any) -> None:
    key = _marks.request_key(request.request_id)
    http = _current.get()
    facts = {
        "request": _marks.shown_name(request.request_id),
        "key": key,
        "age_ns": _marks.age_ns(request) if http is None else http.age_ns(),
        "prompt_tokens": len(request.prompt_token_ids or ()),
    }
    if http is None:
        facts.update(_http_headers.traced(getattr(request, "trace_headers", None)))
    else:
        http.keys.append(key)
        facts["range"] = http.range
        facts["waited_ns"] = http.waited_ns
        facts.update(http.headers)
    facts.update(_marks.settings_of(request))
    _marks.mark(native, "request arrived", facts)


def _record_output(native: _native.Recorder, name: str, tokens: int, reason: Any) -> None:
    key = _marks.request_key(name)
    if tokens:
        with _marks.Range(native, "output") as mark:
            mark.arrives(f"token {tokens}", key)
    if reason is not None:
        _marks.mark(native, "request ended", {"key": key, "reason": str(reason)})


async def _start_profile(self: Any, *_: Any, **__: Any) -> AsyncAround:
    """The front-end of a server records when its engine does."""
    yield
    is_left = _configuration.other_profiler(getattr(self, "vllm_config", None))
    is_recorded = bool(is_left) or getattr(self, "profiler", None) is not None
    await asyncio.to_thread(begin, self, is_recorded)
    capture = self.__dict__.get("_sonde_capture")
    if not _has_routes and capture is not None and capture.session is not None:
        _alone.report_state(capture.session)
    lag.start(asyncio.get_running_loop())


async def _stop_profile(self: Any, *_: Any, **__: Any) -> AsyncAround:
    session = None
    try:
        yield
    finally:
        lag.stop()
        session = await asyncio.to_thread(finish, self)
    await asyncio.to_thread(_capture.await_files, session)


def begin(front_end: Any, is_recorded: bool) -> None:
    """The engine's session began: this process belongs to it."""
    folder = trace_folder(getattr(front_end, "vllm_config", None))
    if folder is None:
        return
    try:
        session = _session.current(folder)
    except OSError as problem:
        _report.log(f"the front-end is not recorded: {problem}", error=True)
        return
    capture = front_end.__dict__.get("_sonde_capture")
    if capture is None:
        capture = front_end._sonde_capture = ProcessCapture("api")
        model = served_model(getattr(front_end, "vllm_config", None))
        if model is not None:
            capture.facts["served_model"] = model
        if not _report.has_launcher():
            atexit.register(_end_of_server, front_end)
    if session is not None:
        _session.join_front_end(session)
        _status.publish(session, _status.RECORDING)
        _report.note("session", session)
    if is_recorded:
        capture.start(session)
    else:
        capture.session = session


def _end_of_server(front_end: Any) -> None:
    """At exit, where no ``sonde run`` looks after what is left: captures of ranks that vLLM killed
    in a session, or together with their parsers."""
    lost = _status.unparsed()
    finish(front_end)
    if not _capture.options.analyse:
        return
    for span in lost:
        try:
            _capture.parse(span, lambda status: None)
        except (_native.NativeError, OSError) as problem:
            _report.log(f"not parsed: {problem}; later: sonde analyse {span}", error=True)
            continue
        _report.log(f"the server ended before its capture was parsed; being parsed: {span}")


def finish(front_end: Any) -> Optional[str]:
    """The session is over: it is summed up. Its folder, None where there was none."""
    capture = front_end.__dict__.get("_sonde_capture")
    session = None
    if capture is not None:
        capture.stop()
        session, capture.session = capture.session, None
    if session is None or not _session.end(session):
        session = _of_another(front_end)
    analyse(session)
    return session


def _of_another(front_end: Any) -> Optional[str]:
    """The session that another front-end of the server began, where it has not ended."""
    folder = trace_folder(getattr(front_end, "vllm_config", None))
    try:
        session = _session.current(folder) if folder is not None else None
    except OSError:
        return None  # there was none
    return session if session is not None and _session.end(session) else None
