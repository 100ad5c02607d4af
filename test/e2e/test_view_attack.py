"""The page's server against clients that mean it no good, before they have shown its token."""

import gzip
import http.client
import json
import os
import socket
import time

import pytest
from test_view import wait_until_ready
from test_view_hard import serve

GOOD_MB = 64  # what the server may hold for all that a stranger sends


@pytest.fixture(scope="module", name="attacked")
def start(sonde, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attack")
    trace = folder / "trace.json"
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]
    trace.write_text(json.dumps({"traceEvents": events}))
    with serve(sonde, folder / "cache", trace) as (process, address):
        wait_until_ready(address)
        yield process, address


def resident_mb(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        (line,) = [line for line in status if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


def connect(address):
    return socket.create_connection(("127.0.0.1", address.port), timeout=10)


def answer_to(address, data, seconds=1.0):
    """What comes back within that time, b"" for a closed connection; None: nothing yet."""
    with connect(address) as client:
        try:
            client.sendall(data)
        except OSError:
            return b""
        client.settimeout(seconds)
        got = b""
        try:
            while piece := client.recv(65536):
                got += piece
        except TimeoutError:
            return got or None
        except OSError:
            return got
        return got


def malformed(port):
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    post = b"POST /api/sql HTTP/1.1\r\n" + host
    get = b"GET / HTTP/1.1\r\n" + host
    return {
        "garbage": b"\x00\xff" * 500 + b"\r\n\r\n",
        "only line ends": b"\r\n\r\n\r\n",
        "HTTP 0.9": b"GET /\r\n\r\n",
        "version": b"GET / HTTP/9.9\r\n" + host + b"\r\n",
        "negative length": post + b"Content-Length: -1\r\n\r\n",
        "huge length": post + b"Content-Length: 99999999999999999999\r\n\r\n",
        "two lengths": post + b"Content-Length: 1\r\nContent-Length: 5\r\n\r\nab",
        "chunked": post + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "two hosts": get + b"Host: evil.example\r\n\r\n",
        "whole address": b"GET http://evil.example/ HTTP/1.1\r\n" + host + b"\r\n",
        "long address": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "many headers": get + b"".join(b"X%d: y\r\n" % i for i in range(20_000)) + b"\r\n",
        "long header": get + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n",
        "zero": get + b"X: a\x00b\r\n\r\n",
        "bare line ends": b"GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
        "space before colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "bad escape": b"GET /%zz%0 HTTP/1.1\r\n" + host + b"\r\n",
        "zero in address": b"GET /%00x HTTP/1.1\r\n" + host + b"\r\n",
        "outside": b"GET /../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n",
        "expect": post + b"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n",
        "packed": post + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        "TLS": bytes.fromhex("16030100a5010000a10303") + b"\x00" * 160,
        "HTTP 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "trace": b"TRACE / HTTP/1.1\r\n" + host + b"\r\n",
        "connect": b"CONNECT evil:80 HTTP/1.1\r\n" + host + b"\r\n",
        "no token": get + b"\r\n",
        "post without body": post + b"\r\n",
    }


def test_malformed_requests_are_refused_at_once(attacked):
    _, address = attacked
    for name, data in malformed(address.port).items():
        got = answer_to(address, data)
        assert got is not None, f"{name}: neither an answer nor an end within a second"
        assert got == b"" or got.startswith(b"HTTP/1.1 4"), (name, got[:60])


def test_a_post_without_a_body_is_answered(attacked):
    """As `curl -X POST` sends it: without a length."""
    _, address = attacked
    head = f"POST /api/sql?{address.query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    got = answer_to(address, head.encode(), seconds=5)
    assert got.startswith(b"HTTP/1.1 400"), got
    assert b"there is no statement" in got


def test_strangers_cost_no_memory(attacked):
    process, address = attacked
    before = resident_mb(process)
    packed = gzip.compress(b"x" * 100_000_000)
    head = (
        b"POST /api/sql HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    )
    answer_to(address, head % len(packed) + packed)
    line = b"X-A: " + b"a" * 8000 + b"\r\n"
    sent = 0
    with connect(address) as client:
        try:
            client.sendall(b"GET / HTTP/1.1\r\nHost: evil\r\n")
            for _ in range(1000):
                client.sendall(line * 100)
                sent += len(line) * 100
        except OSError:
            pass
    assert sent < 100_000_000, "the server read on and on"
    assert resident_mb(process) - before < GOOD_MB


def test_slow_clients_without_end_hold_nobody_up(attacked):
    process, address = attacked
    before = len(os.listdir(f"/proc/{process.pid}/fd"))
    slow = []
    try:
        for _ in range(600):
            client = connect(address)
            client.sendall(b"GET / HTTP/1.1\r\nX")
            slow.append(client)
        for _ in range(5):
            begin = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=10)
            connection.request("GET", f"/api/session?{address.query}")
            assert connection.getresponse().status == 200
            connection.close()
            assert time.monotonic() - begin < 2
        assert len(os.listdir(f"/proc/{process.pid}/fd")) - before < 300
    finally:
        for client in slow:
            client.close()


def test_a_statement_ends_when_its_client_leaves(attacked):
    process, address = attacked
    sql = b"SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 5"
    head = (
        f"POST /api/sql?{address.query} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(sql)}\r\n\r\n"
    )

    def processor_seconds():
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def spent_in_two_seconds():
        before = processor_seconds()
        time.sleep(2)
        return processor_seconds() - before

    deadline = time.monotonic() + 120
    with connect(address) as client:
        began = processor_seconds()
        client.sendall(head.encode() + sql)
        while processor_seconds() - began < 0.3:
            assert time.monotonic() < deadline, "the statement was meant to run"
            time.sleep(0.05)
    while spent_in_two_seconds() > 0.02:
        assert time.monotonic() < deadline, "it runs on without its client"
