"""What a front-end's event loop knows of those who wait for it: before it saw them, in its pauses,
and when its answer is written. Needs no vLLM."""

import asyncio
import socket
import time

import pytest
from sonde.vllm._delivery import Delivery
from sonde.vllm._loop_lag import LoopLag


class Connection(asyncio.Protocol):
    """Adds to `seen` how long its first bytes waited for the loop."""

    def __init__(self, lag, seen):
        self.lag, self.seen, self.transport = lag, seen, None

    def connection_made(self, transport):
        self.transport = transport

    def receive(self):
        """Stands for what a server gives the application."""

    def data_received(self, data):
        loop = asyncio.get_running_loop()
        # Servers call the application in a task of its own, after our appointment.
        loop.call_soon(lambda: self.seen.append(self.lag.waited_ns(self.receive)))
        loop.call_soon(lambda: self.seen.append(self.lag.now_ns()))


@pytest.mark.parametrize("is_new", [False, True])
def test_who_came_during_a_pause_has_waited(recorder, is_new):
    seen = []

    async def main():
        lag, loop = LoopLag(), asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(lag, seen), "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        lag.start(loop)
        client = socket.socket()
        if not is_new:
            client.connect(address)
        await asyncio.sleep(0.05)  # it is accepted
        begin = time.monotonic()
        time.sleep(0.1)
        if is_new:
            client.connect(address)
        asked = time.monotonic()
        client.sendall(b"POST")
        time.sleep(0.2)
        while len(seen) < 2:
            await asyncio.sleep(0)
        waited = time.monotonic() - asked, time.monotonic() - begin
        lag.stop()
        client.close()
        server.close()
        return waited

    waited_s, paused_s = asyncio.run(main())
    exact_ns, most_ns = seen
    # The kernel counts in ticks.
    assert 190e6 <= exact_ns <= waited_s * 1e9 + 5e6
    assert 270e6 <= most_ns <= paused_s * 1e9
    later = LoopLag()
    assert later.now_ns() == 0 and later.waited_ns(None) == 0


def test_a_loop_that_is_busy_is_late(recorder):
    async def main():
        lag = LoopLag()
        lag.start(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        time.sleep(0.2)  # nobody reads a socket meanwhile
        seen = lag.now_ns()
        await asyncio.sleep(0.05)
        lag.stop()
        return seen

    seen_ns = asyncio.run(main())
    reported = [
        reported[-1]
        for reported in recorder.reported
        if reported[:2] == ("sonde_counter", "event loop lag ms")
    ]
    assert seen_ns >= 170e6 and max(reported) >= 170


def last_counts(recorder, name):
    """The values of a counter of the loop, in order."""
    return [
        reported[-1] for reported in recorder.reported if reported[:2] == ("sonde_counter", name)
    ]


def test_what_the_loop_did_in_a_pause_is_beside_it(recorder):
    """Once it only slept, once it worked; nobody waits for a page here."""

    async def main():
        lag = LoopLag()
        lag.start(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        time.sleep(0.2)
        await asyncio.sleep(0.05)
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        await asyncio.sleep(0.05)
        lag.stop()

    asyncio.run(main())
    lags = last_counts(recorder, "event loop lag ms")
    ran = last_counts(recorder, "event loop processor ms")
    waited = last_counts(recorder, "event loop processor wait ms")
    assert len(ran) == len(waited) == len(lags)
    assert any(lag >= 150 and one < 50 for lag, one in zip(lags, ran))
    assert max(ran) >= 150
    assert all(one <= lag for one, lag in zip(ran, lags))
    assert all(0 <= one <= lag for one, lag in zip(waited, lags))
    assert last_counts(recorder, "event loop major faults")[-1] == 0


class Slow(asyncio.Protocol):
    """A server's connection that writes more than its client takes."""

    def __init__(self, ends):
        self.ends, self.transport = ends, None

    def connection_made(self, transport):
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    def data_received(self, data):
        self.transport.write(b"x" * int(data))
        Delivery(self.transport, lambda: self.ends.append(time.monotonic()))


@pytest.mark.parametrize("size, is_seen", [(10, False), (4_000_000, True)])
def test_what_a_client_does_not_take_waits_in_the_server(size, is_seen):
    ends = []

    async def main():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Slow(ends), "127.0.0.1", 0)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        await loop.sock_sendall(client, str(size).encode())
        await asyncio.sleep(0.2)
        begin, taken = time.monotonic(), 0
        while taken < size:
            taken += len(await loop.sock_recv(client, 65536))
        done = time.monotonic()
        for _ in range(200):
            if ends:
                break
            await asyncio.sleep(0.01 if is_seen else 0.0005)
        client.close()
        server.close()
        return begin, done

    begin, done = asyncio.run(main())
    assert bool(ends) == is_seen
    # The last of it leaves the server when there is room for that, up to a look later.
    assert all(begin <= end <= done + 1 for end in ends)


def test_a_connection_that_ended_was_not_delivered():
    ends = []

    async def main():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Slow(ends), "127.0.0.1", 0)
        client = socket.create_connection(server.sockets[0].getsockname())
        client.sendall(b"8000000")
        await asyncio.sleep(0.1)
        client.close()
        await asyncio.sleep(0.1)
        server.close()

    asyncio.run(main())
    assert not ends
