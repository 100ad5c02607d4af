"""Why the slowest requests of two sessions differ: a front-end that stood still for a while beside
the same one that did not."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from watched import Stream, profiled

REQUESTS = 16
LEAST_STALL_S = 1.5
STALL_IN_REQUESTS = 30  # so that it is beyond what requests differ by on a busy machine


def front_end_of(server):
    """The number of vLLM's first process, which `sonde run` started."""
    launcher = server.process.pid
    (child,) = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return int(child)


def ask_all(server, stall_s=0):
    """The longest time that one took, without those of the stop."""
    times = []
    for number in range(REQUESTS):
        if stall_s and number == REQUESTS // 2:
            stop_for_a_while(server, stall_s)
        begin = time.monotonic()
        server.ask("import ", 8)
        times.append(time.monotonic() - begin)
    return max(times)


def stop_for_a_while(server, stall_s):
    process = front_end_of(server)
    os.kill(process, signal.SIGSTOP)
    try:
        streams = [Stream(server, 8) for _ in range(2)]
        time.sleep(stall_s)
    finally:
        os.kill(process, signal.SIGCONT)
    for stream in streams:
        stream.join(120)
        assert stream.moments, server.last_lines()


def compared(sonde, base, comparison, folder):
    """What `sonde compare` prints of two sessions."""
    command = [sonde, "compare", "-d", comparison, "-bp", base, "-o", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_change_of_p99_is_explained_by_its_parts(server, sonde, tmp_path):
    plain = profiled(server, lambda: ask_all(server))
    healthy, stall_s = plain.folder, max(LEAST_STALL_S, STALL_IN_REQUESTS * plain.result)
    stalled = profiled(server, lambda: ask_all(server, stall_s)).folder
    text = compared(sonde, healthy, stalled, tmp_path / "worse")
    # The largest part comes first: the clients waited for the front-end's loop.
    found = re.search(r"P99 of the requests' time is [\d.]+ ms.*: event loop \+([\d.]+) ms", text)
    assert found and 0.8 * stall_s < float(found[1]) / 1e3 < 2 * stall_s, (stall_s, text)
    text = compared(sonde, stalled, healthy, tmp_path / "better")
    assert re.search(r"P99 of the requests' time is [\d.]+ ms.*: event loop -[\d.]+ ms", text), text
