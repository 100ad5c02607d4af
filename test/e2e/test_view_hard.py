"""`sonde view` on bad days: slow and many clients, huge requests, slow statements, Ctrl+C while it
reads, paths outside of its folders, programs that record on request."""

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlparse

import pytest
from test_view import ask, wait_until_ready, with_token

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")


@contextmanager
def serve(sonde, cache, *words):
    """A running server, as (process, parsed address)."""
    with subprocess.Popen(
        [str(word) for word in (sonde, "view", *words)],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process, urlparse(process.stdout.readline().strip())
        finally:
            process.kill()


def write_trace(path, events, start=0):
    with path.open("w") as out:
        out.write('{"traceEvents": [\n')
        for i in range(events):
            comma = ",\n" if i else ""
            out.write(
                f'{comma}{{"ph": "X", "name": "op {i % 90}", "pid": 1, "tid": {i % 3}, '
                f'"ts": {start + i * 10}, "dur": 7, "args": {{"number": {i}, "text": "abcdef"}}}}'
            )
        out.write("\n]}\n")
    return path


@pytest.fixture(name="small", scope="module")
def make_small(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("small") / "trace.json", 2000)


@pytest.fixture(name="view", scope="module")
def start_view(sonde, cache_home, small):
    """A server of the small trace that is ready."""
    with serve(sonde, cache_home, small) as (process, address):
        wait_until_ready(address)
        yield process, address


@pytest.fixture(name="large", scope="module")
def make_large(tmp_path_factory):
    """Large enough for a preview: about 70 MB."""
    return write_trace(tmp_path_factory.mktemp("large") / "trace.json", 650_000)


def window(**more):
    parameters = {"lanes": "0:0:1", "begin": 0, "end": 20_000_000, "pixel": 10_000, **more}
    return "/api/window?" + "&".join(f"{key}={value}" for key, value in parameters.items())


def test_a_hundred_at_once(view):
    _, address = view
    with ThreadPoolExecutor(100) as pool:
        targets = [window(pixel=1000 + i) for i in range(300)]
        answers = list(pool.map(lambda target: ask_raw(address, target), targets))
    assert {status for status, _ in answers} == {200}


def ask_raw(address, target, method="GET", body=None, headers=None):
    target = with_token(address, target)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
    # A server that refuses may close before it has read everything: its answer is there all the
    # same.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, target, body=body, headers=headers or {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def test_huge_and_garbled_requests(view):
    _, address = view
    assert ask_raw(address, "/api/names?trace=0&ids=" + "1," * 6000)[0] in (400, 414)
    assert ask_raw(address, "/api/sql", "POST", b"x" * (2 << 20))[0] == 413
    assert ask_raw(address, "/api/session", headers={"X": "y" * 100_000})[0] in (400, 413, 431)
    big = "9" * 400
    for target in (
        window(begin=big),
        window(end="-1"),
        window(pixel="0"),
        window(lanes="0:0:1,:::"),
        "/api/slice?trace=0&id=" + big,
        "/api/slice?trace=" + big + "&id=0",
        "/api/search?trace=0&regex=1&q=" + quote("(((("),
        "/api/search?q=",
        "/api/counter?trace=0&track=0",
        "/api/export?format=csv",
    ):
        assert ask_raw(address, target)[0] in (400, 404), target
    # Still well.
    assert ask_raw(address, "/api/session")[0] == 200


def test_garbage_in_place_of_http(view):
    _, address = view
    binary = b"\0\1\2\3" * 100 + b"\r\n\r\n"
    for text in (binary, b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 50):
        with socket.create_connection(("127.0.0.1", address.port), timeout=20) as client:
            client.sendall(text)
            client.shutdown(socket.SHUT_WR)
            while client.recv(4096):
                pass
    assert ask_raw(address, "/api/session")[0] == 200


def test_slow_clients_hold_nobody_up(view):
    _, address = view
    slow = []
    for _ in range(100):
        client = socket.create_connection(("127.0.0.1", address.port), timeout=20)
        client.sendall(b"GET /api/session HTTP/1.1\r\nHos")
        slow.append(client)
    for _ in range(20):
        assert ask_raw(address, window())[0] == 200
    for client in slow:
        client.close()


def test_slow_statement_beside_pans_is_cancelled(view):
    _, address = view
    sql = b"SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask_raw, address, "/api/sql?id=slow", "POST", sql)
        for _ in range(50):
            assert ask_raw(address, window())[0] == 200
        assert not running.done()
        end = time.monotonic() + 30
        while ask_raw(address, "/api/cancel?id=slow", "POST")[0] != 200:
            assert time.monotonic() < end
        status, text = running.result(30)
    assert (status, b"cancelled" in text) == (409, True)


def resident_mb(process):
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def use(address, rounds):
    """What a user does, at other places and with other words each time."""
    for i in range(rounds):
        begin, end = i * 7919 % 15_000_000, i * 7919 % 15_000_000 + 1_000_000 + i * 1000
        area = f"lanes=0:0:1,0:1:1&begin={begin}&end={end}"
        for target in (
            window(begin=begin, end=end, pixel=1 + (end - begin) // 1600),
            f"/api/area?{area}",
            f"/api/occurrences?{area}&name=op%20{i % 90}",
            f"/api/flame?{area}",
            f"/api/search?q=op%20{i % 90}&trace=-1",
            f"/api/slice?trace=0&id={i % 2000}",
            f"/api/neighbour?trace=0&id={i % 2000}&step=1&same=name",
            f"/api/counter?trace=0&track={i}&begin={begin}&end={end}&pixel=1000",
        ):
            assert ask_raw(address, target)[0] in (200, 404), target
        sql = f"SELECT name, sum(dur) + {i} FROM slice WHERE ts % 7 = {i % 7} GROUP BY ALL"
        assert ask_raw(address, "/api/sql", "POST", sql.encode())[0] == 200


def test_memory_stays_flat(view):
    process, address = view
    use(address, 100)
    before = resident_mb(process)
    use(address, 150)
    # Allocators and the database's caches take some; a leak of a quarter of a MB a round is more.
    assert resident_mb(process) - before < 40


def test_foreign_pages_change_nothing(view):
    _, address = view
    for target in ("/api/open?path=/", "/api/live/start", "/api/cancel?id=1"):
        headers = {"Origin": "http://example.org"}
        assert ask_raw(address, target, "POST", b"", headers)[0] == 403
        assert ask_raw(address, target)[0] == 404, "reading changes nothing"


def test_exports(view):
    _, address = view
    sql = b"SELECT slice_id, name, ts FROM slice ORDER BY slice_id"
    status, data = ask_raw(address, "/api/export?format=xlsx", "POST", sql)
    assert status == 200
    book = zipfile.ZipFile(io.BytesIO(data))
    assert book.read("xl/worksheets/sheet1.xml").count(b"<row ") == 2001
    status, data = ask_raw(address, "/api/export?format=csv", "POST", sql)
    assert len(data.splitlines()) == 2001
    status, data = ask_raw(address, "/api/export?format=parquet", "POST", sql)
    assert (data[:4], data[-4:]) == (b"PAR1", b"PAR1")


def test_opens_what_lies_in_its_folders_only(sonde, cache_home, tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        write_trace(folder / "trace.json", 10)
    (inside / "notes.txt").write_text("nothing")
    (inside / "link").symlink_to(outside)
    with serve(sonde, cache_home, "--root", inside) as (_, address):
        assert json.loads(ask(address, "/api/session")[1])["traces"] == []
        for path in (outside, inside / "link", inside / ".." / "outside", "/etc", "trace.json"):
            status, text = ask(address, f"/api/open?path={quote(str(path))}", "POST")
            assert status in (403, 404), text
        assert ask(address, f"/api/browse?path={quote(str(outside))}")[0] == 403
        entries = json.loads(ask(address, f"/api/browse?path={quote(str(inside))}")[1])["entries"]
        formats = {entry["name"]: entry["format"] for entry in entries}
        assert formats["trace.json"] != "" and formats["notes.txt"] == ""
        assert ask(address, f"/api/open?path={quote(str(inside))}", "POST")[0] == 200
        session = wait_until_ready(address)
        assert [trace["name"] for trace in session["traces"]] == ["trace.json"]
        assert [entry["path"] for entry in session["ignored"]] == [str(inside / "notes.txt")]


def test_shows_a_preview_while_it_reads(sonde, tmp_path, large):
    with serve(sonde, tmp_path / "cache", large) as (_, address):
        session = wait_until_ready(address)
        (trace,) = session["traces"]
        assert (trace["state"], trace["slices"]) == ("ready", 650_000)
        assert trace["version"] == 2, "a preview was shown before"
        assert ask(address, "/api/progress") == (200, "[]")
    # There is a store now: nothing to preview.
    with serve(sonde, tmp_path / "cache", large) as (_, address):
        assert wait_until_ready(address)["traces"][0]["version"] == 1


def test_ends_while_it_reads(sonde, tmp_path, large):
    cache = tmp_path / "cache"
    with serve(sonde, cache, large) as (process, address):
        end = time.monotonic() + 60
        while not json.loads(ask(address, "/api/progress")[1]):
            assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert [path.name for path in cache.rglob("*") if path.is_file()] == []


@pytest.fixture(name="program")
def run_program(tmp_path):
    """A program that works until it is ended, with its control address."""
    source = tmp_path / "work.cc"
    source.write_text(
        "#include <sonde/sonde.hpp>\n#include <unistd.h>\n"
        'int main() { for (;;) { SONDE_SCOPE("request"); usleep(200); } }\n'
    )
    program = tmp_path / "work"
    words = ["g++", "-std=c++17", f"-I{ROOT / 'include'}", source, f"-L{BUILD / 'lib'}"]
    words += ["-lsonde_record", f"-Wl,-rpath,{BUILD / 'lib'}", "-o", program]
    subprocess.run(words, check=True)
    socket_path = tmp_path / "control"
    captures = tmp_path / "captures"
    captures.mkdir()
    env = {key: value for key, value in os.environ.items() if not key.startswith("SONDE_")}
    env |= {"SONDE_SAVE_PATH": str(captures), "SONDE_CONTROL": f"unix:{socket_path}"}
    with subprocess.Popen([program], env=env) as process:
        end = time.monotonic() + 20
        while not socket_path.exists() and time.monotonic() < end:
            time.sleep(0.01)
        yield process, f"unix:{socket_path}"
        process.kill()


def test_records_a_running_program(sonde, cache_home, program):
    process, control = program
    with serve(sonde, cache_home, "--live", control) as (_, address):
        assert json.loads(ask(address, "/api/session")[1])["live"] is True

        def programs():
            return json.loads(ask(address, "/api/live")[1])

        def until(done):
            end = time.monotonic() + 60
            while not done():
                assert time.monotonic() < end
                time.sleep(0.05)

        until(lambda: programs()[0]["state"] == "idle")
        status, text = ask(address, "/api/live/start", "POST", '{"record_shapes": true}')
        assert (status, json.loads(text)[0]["state"]) == (200, "recording")
        assert ask(address, "/api/live/start", "POST", "")[0] == 409, "it records already"

        def traces():
            return json.loads(ask(address, "/api/session")[1])["traces"]

        # It is seen while it grows.
        until(lambda: traces() and traces()[0]["version"] >= 2)
        growing = traces()[0]
        assert growing["state"] == "recording" and growing["slices"] > 0
        status, text = ask(address, "/api/live/stop", "POST", "")
        assert (status, json.loads(text)[0]["state"]) == (200, "idle"), text
        (trace,) = traces()
        assert trace["state"] == "ready"
        assert trace["slices"] > growing["slices"]
        process.kill()
        until(lambda: programs()[0]["state"] == "gone")
        assert programs()[0]["message"] != ""


def test_run_offers_a_page(sonde, prepared, tmp_path):
    program = "import torch, time\nwhile True: torch.ones(8).sum(); time.sleep(0.001)\n"
    (tmp_path / "work.py").write_text(program)
    words = [sonde, "run", "--view", "--no-analyse", "--profile-save-path", tmp_path / "profile"]
    words += ["--", prepared.python, tmp_path / "work.py"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("SONDE_")}
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    with subprocess.Popen(
        [str(word) for word in words], env=env, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stderr.readline()
            while not line.startswith("http://"):
                assert line, "it ended"
                line = process.stderr.readline()
            address = urlparse(line.strip())
            deadline = time.monotonic() + 90

            def until(done):
                while not done():
                    assert time.monotonic() < deadline
                    time.sleep(0.1)

            def programs():
                return json.loads(ask(address, "/api/live")[1])

            until(lambda: any(known["state"] == "idle" for known in programs()))
            chosen = '{"experimental_config": {"_profiler_level": "Level1"}, "with_stack": true}'
            assert ask(address, "/api/live/start", "POST", chosen)[0] == 200
            until(lambda: programs()[0]["records"] > 100)
            status, text = ask(address, "/api/live/stop", "POST", "")
            assert status == 200, text
            (trace,) = json.loads(ask(address, "/api/session")[1])["traces"]
            assert (trace["state"], trace["slices"] > 50) == ("ready", True)
            # What was chosen at the page is what the analysis goes by.
            subprocess.run([sonde, "analyse", trace["path"]], check=True, capture_output=True)
            (info,) = Path(trace["path"]).rglob("profiler_info*.json")
            config = json.loads(info.read_text())["config"]
            assert config["experimental_config"]["_profiler_level"] == "Level1"
            assert config["common_config"]["with_stack"] is True
            (kernels,) = Path(trace["path"]).rglob("kernel_details.csv")
            assert ",OP State," in kernels.read_text().splitlines()[0]
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", address.port), timeout=5)
        finally:
            process.kill()


def test_slow_readers_of_exports_cost_little(view):
    """Forty clients ask for 9 MB each and take nothing: the server holds a piece for each."""
    process, address = view
    sql = b"SELECT range AS n, md5(range::VARCHAR) AS a FROM range(240000)"
    assert len(ask_raw(address, "/api/export?format=csv", "POST", sql)[1]) > 9_000_000
    before = resident_mb(process)
    target = with_token(address, "/api/export?format=csv")
    lines = (f"POST {target} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(sql)}", "", "")
    head = "\r\n".join(lines).replace("127.0.0.1", f"127.0.0.1:{address.port}").encode()
    clients = []
    for _ in range(40):
        client = socket.create_connection(("127.0.0.1", address.port), timeout=180)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.sendall(head + sql)
        clients.append(client)
    most = 0
    for client in clients:
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        most = max(most, resident_mb(process) - before)
    for client in clients:
        client.close()
    assert most < 150, f"{most:.0f} MB"
    assert ask_raw(address, "/api/session")[0] == 200
