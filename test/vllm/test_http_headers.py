"""By what a client finds its request again: the headers that are recorded, and those that are not.

Needs no vLLM."""

import asyncio
from types import SimpleNamespace

import pytest
from sonde.vllm import _front_end, _marks


@pytest.fixture(name="recorded")
def make_recorded(monkeypatch):
    """recorded(name) returns the facts of the marks of that name."""
    marks = []
    fast = SimpleNamespace(
        sonde_mark=lambda name, domain, facts: marks.append((name, facts)),
        sonde_range_start=lambda *_: 1, sonde_range_end=lambda *_: None,
        sonde_flow_in=lambda *_: None,
    )  # fmt: skip
    recorder = SimpleNamespace(
        fast=fast, intern=str, domain=str, features_word=lambda: 1, range_pop=lambda: None,
        range_push=lambda *_: None, args=lambda facts, once: dict(facts),
    )  # fmt: skip
    monkeypatch.setattr(_marks, "recorder", lambda: recorder)
    return lambda name: [facts for mark, facts in marks if mark == name]


def call(app, headers):
    """One call of an application behind our middleware."""

    async def send(_):
        pass

    scope = {"type": "http", "path": "/v1/chat/completions", "method": "POST", "headers": headers}
    asyncio.run(_front_end.RequestTimes(app)(scope, None, send))


TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(b"traceparent", TRACEPARENT), (b"x-request-id", b"order 66")],
         {"traceparent": TRACEPARENT.decode(), "x-request-id": "order 66"}),
        ([(b"Traceparent", b" %s\t" % TRACEPARENT)], {"traceparent": TRACEPARENT.decode()}),
        # A later version may have more; the version that is known has not.
        ([(b"traceparent", b"cc" + TRACEPARENT[2:] + b"-what")],
         {"traceparent": "cc" + TRACEPARENT[2:].decode()}),
        ([(b"traceparent", b"cc" + TRACEPARENT[2:] + b".what")], {}),
        ([(b"traceparent", TRACEPARENT + b"-what")], {}),
        ([(b"traceparent", b"ff" + TRACEPARENT[2:])], {}),
        ([(b"traceparent", TRACEPARENT.upper())], {}),
        ([(b"traceparent", b"00-" + b"0" * 32 + TRACEPARENT[35:])], {}),
        ([(b"traceparent", TRACEPARENT[:36] + b"0" * 16 + b"-01")], {}),
        ([(b"traceparent", TRACEPARENT)] * 2, {}),
        ([(b"traceparent", b"'; DROP TABLE request; --")], {}),
        ([(b"x-request-id", b"first"), (b"x-request-id", b"second")], {"x-request-id": "first"}),
        ([(b"x-request-id", b"  ")], {}),
        ([(b"x-request-id", b"a\x1b[2J\nb\x00\xff")],
         {"x-request-id": "a\ufffd[2J\ufffdb\ufffd\ufffd"}),
        ([(b"x-request-id", "\u202eevil".encode())], {"x-request-id": "\ufffdevil"}),
        ([(b"x-request-id", b"x" * 60_000)], {"x-request-id": "x" * 127 + "…"}),
        ([(b"x-request-id", "字".encode() * 5_000)], {"x-request-id": "字" * 127 + "…"}),
    ],
)  # fmt: skip
def test_headers_of_a_request(recorded, headers, expected):
    """Of a request that the server refuses; others have them, too (below)."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 400, "headers": []})

    call(app, headers)
    (arrived,) = recorded("request arrived")
    found = {name: arrived[name] for name in ("traceparent", "x-request-id") if name in arrived}
    assert found == expected


def test_headers_reach_each_request_of_a_call(recorded):
    async def app(scope, receive, send):
        for name in ("a", "b" * 5_000):
            request = SimpleNamespace(request_id=name, prompt_token_ids=[1])
            _front_end._record_arrival(_marks.recorder(), request)

    call(app, [(b"x-request-id", b"order 66")])
    arrived = recorded("request arrived")
    assert [one["x-request-id"] for one in arrived] == ["order 66"] * 2
    # A name that a client made long does not cost the request its name.
    assert [one["request"] for one in arrived] == ["a", "b" * 199 + "…"]
    assert arrived[1]["key"] == _marks.request_key("b" * 5_000)
