"""Memory of the server over an hour of use, pressed together: long_use.py BINARY TRACE

Sends what the page sends when a user pans twenty times and asks once a second: windows, slices,
areas, searches, flame graphs, statements. Prints at each tenth the resident memory, the same after
a pause in which the server gives back what is free, and its processor time.
"""

import os
import random
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from bench import memory_mb, serve, wait

SECONDS = 3600
WINDOWS_A_SECOND = 20
PAUSE_S = 11
STATEMENTS = (
    "SELECT name, count(*), sum(dur) FROM slice GROUP BY name ORDER BY 3 DESC LIMIT 50",
    "SELECT * FROM slice WHERE dur > {number} ORDER BY ts LIMIT 200",
    "SELECT * FROM device_task ORDER BY dur DESC LIMIT {number}",
    "SELECT track_id, min(ts), max(ts + dur) FROM slice GROUP BY track_id",
)


class User:
    """Draws what to ask next; the same each time."""

    def __init__(self, client):
        self._client, self._choose = client, random.Random(1)
        trace = client.session()["traces"][0]
        self._begin, self._end = trace["begin"], trace["end"]
        self._slices = trace["slices"]
        tracks = sorted((t for t in trace["tracks"] if t["depths"]), key=lambda t: -t["slices"])
        self._lanes = ",".join(f"0:{t['id']}:{t['depths']}" for t in tracks[:24])
        self._kinds = (self._slice, self._area, self._search, self._statement, self._flame)

    def _window(self):
        span = self._end - self._begin
        width = max(2000, int(span / 2 ** self._choose.uniform(0, 16)))
        begin = self._begin + int(self._choose.random() * max(1, span - width))
        pixel = max(1, width // 1600)
        return f"lanes={self._lanes}&begin={begin}&end={begin + width}&pixel={pixel}"

    def pan(self):
        self._client.get(f"/api/window?{self._window()}")

    def ask(self, number):
        self._kinds[number % len(self._kinds)]()

    def _slice(self):
        self._client.get(f"/api/slice?trace=0&id={self._choose.randrange(self._slices)}")

    def _area(self):
        self._client.get(f"/api/area?{self._window()}")

    def _search(self):
        self._client.get(f"/api/search?trace=0&q={quote(self._choose.choice('aeiou') + 'l')}")

    def _statement(self):
        statement = self._choose.choice(STATEMENTS)
        self._client.post(
            f"/api/sql?trace=0&limit=1000&id=q{self._choose.randrange(1 << 30)}",
            statement.format(number=self._choose.randint(10, 1000)),
        )

    def _flame(self):
        self._client.get(f"/api/flame?{self._window()}")


def main(binary, trace):
    with tempfile.TemporaryDirectory(prefix="sonde-long-use-") as cache:
        with serve(binary, Path(cache), trace) as (process, client, _, _):
            wait(client, lambda session: not session["loading"])
            user = User(client)
            ticks = os.sysconf("SC_CLK_TCK")
            print(f"{'hour':>5} {'MB':>7} {'paused':>7} {'CPU s':>6}")
            for second in range(SECONDS):
                if second % (SECONDS // 10) == 0:
                    report(second, process, client, ticks)
                for _ in range(WINDOWS_A_SECOND):
                    user.pan()
                user.ask(second)
            report(SECONDS, process, client, ticks)


def report(second, process, client, ticks):
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    seconds = (int(fields[11]) + int(fields[12])) / ticks
    at_once = memory_mb(process)
    client.close()  # the server would, in a pause
    time.sleep(PAUSE_S)
    print(
        f"{second / SECONDS:5.1f} {at_once:7.1f} {memory_mb(process):7.1f} {seconds:6.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
