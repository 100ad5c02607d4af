"""`sonde view` as a process: its address, who is answered, and how it ends."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import zipfile
from contextlib import contextmanager

import planted_clocks
import planted_job
import planted_ranks
import pytest

TRACE = {
    "traceEvents": [
        {"ph": "X", "name": "outer", "pid": 1, "tid": 2, "ts": 10, "dur": 5},
        {"ph": "X", "name": "inner", "pid": 1, "tid": 2, "ts": 11, "dur": 2},
    ]
}


@pytest.fixture(name="trace")
def make_trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(TRACE))
    return path


@pytest.fixture(name="view")
def make_view(sonde, cache_home):
    """view("trace.json") is a running server, as (process, parsed address)."""

    @contextmanager
    def start(*words):
        process = subprocess.Popen(
            [str(word) for word in (sonde, "view", *words)],
            env={**os.environ, "XDG_CACHE_HOME": str(cache_home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process, urllib.parse.urlparse(process.stdout.readline().strip())
        finally:
            process.kill()
            process.communicate()

    return start


def with_token(address, target):
    """The target with the token of the address; as it is where it names one."""
    if "token=" in target or not address.query:
        return target
    return f"{target}{'&' if '?' in target else '?'}{address.query}"


def ask(address, target, method="GET", body=None, headers=None):
    target = with_token(address, target)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
    connection.request(method, target, body=body, headers=headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def wait_until_ready(address, target="/api/session"):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        status, text = ask(address, target)
        assert status == 200, text
        session = json.loads(text)
        if not session["loading"]:
            return session
        time.sleep(0.05)
    raise AssertionError("the trace was not read in time")


def test_serves_the_trace_and_the_page(view, trace):
    with view(trace) as (process, address):
        assert address.hostname == "127.0.0.1"
        session = wait_until_ready(address)
        assert [t["state"] for t in session["traces"]] == ["ready"]
        status, text = ask(address, "/api/sql", "POST", "SELECT name, dur FROM slice ORDER BY ts")
        assert status == 200
        assert json.loads(text)["rows"] == [["outer", 5000], ["inner", 2000]]
        status, text = ask(address, "/")
        assert (status, "<title>Sonde</title>" in text) == (200, True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_the_advice_of_all_ranks_says_why_one_is_slow(view, tmp_path):
    job = planted_job.Job(tp=2, dp=4, steps=3, cause="kernel", strength=0.1, rank=5, seed=77)
    planted_ranks.write(job, tmp_path / "ranks")
    with view(tmp_path / "ranks") as (_, address):
        wait_until_ready(address)
        status, text = ask(address, "/api/advisor?lang=en")
        assert status == 200, text
    (printed,) = [one for one in json.loads(text)["advice"] if one["rule"] == "slow_rank_cause"]
    assert printed["description"].startswith("rank 5 is slow in all steps")


def test_clocks_that_disagree_are_reported_next_to_the_waits(view, shared_data, tmp_path):
    ranks = shutil.copytree(shared_data / "ascend_pt/synth8_tp_pp_dp", tmp_path / "ranks")
    planted_clocks.unmeasured(ranks)
    planted_clocks.meet(ranks, {4, 5, 6, 7}, 40_000)
    planted_clocks.shift(ranks, {4, 5, 6, 7}, 250_000_000)
    with view(ranks) as (_, address):
        wait_until_ready(address)
        for target in ("cluster?mode=communication_time", "results?name=communication&traces=0-7"):
            for _ in range(2):  # the second answer is remembered
                status, text = ask(address, f"/api/{target}")
                assert status == 200, text
                lines = [line for line in json.loads(text)["notices"] if "clock of" in line]
                assert len(lines) == 1 and "(rank 4,5,6,7) is 250.0" in lines[0], text[:2000]


def test_confined_to_the_traces_and_to_its_own_page(view, trace):
    with view(trace) as (_, address):
        wait_until_ready(address)
        for target in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/app.ts"):
            assert ask(address, target)[0] == 404, target
        sql = f"SELECT * FROM read_text('{trace}')"
        assert ask(address, "/api/sql", "POST", sql)[0] == 400
        stranger = address._replace(query="")
        assert ask(stranger, "/api/session", headers={"Host": "example.org"})[0] == 401
        assert ask(address, "/api/session", headers={"Origin": "http://example.org"})[0] == 403
        assert ask(address, "/api/window?lanes=" + "0:0:1," * 4000)[0] == 414


@pytest.mark.parametrize("words", [(), ("--host", "0.0.0.0")])
def test_every_address_needs_the_token(view, trace, words):
    with view(trace, *words) as (_, address):
        assert len(urllib.parse.parse_qs(address.query)["token"][0]) == 32
        for target in ("/", "/app.js", "/api/session", "/api/session?token=0"):
            assert ask(address._replace(query=""), target)[0] == 401, target
        wait_until_ready(address)


def test_ends_while_browsers_listen_or_are_gone(view, trace):
    with view(trace) as (process, address):
        listening = []
        for _ in range(20):
            browser = socket.create_connection(("127.0.0.1", address.port), timeout=20)
            host = f"127.0.0.1:{address.port}"
            target = with_token(address, "/api/events")
            browser.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert b"200 OK" in browser.recv(4096)
            listening.append(browser)
        for browser in listening[:10]:
            browser.close()
        wait_until_ready(address)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_root_is_one_folder_and_what_follows_a_path(view, trace, tmp_path):
    (tmp_path / "more").mkdir()
    with view("--root", tmp_path / "more", trace) as (_, address):
        session = wait_until_ready(address)
        assert [one["path"] for one in session["traces"]] == [str(trace)]
        assert session["roots"] == sorted([str(tmp_path / "more"), str(tmp_path)])


def write_cut_lake(folder, trace, run_sonde):
    assert run_sonde("lake", "add", trace, "--to", folder).returncode == 0
    catalog = folder / "catalog.ducklake"
    os.truncate(catalog, catalog.stat().st_size // 2)


def write_cut_zip(folder, trace, _):
    folder.mkdir()
    with zipfile.ZipFile(folder / "trace.zip", "w") as packed:
        packed.write(trace)
    os.truncate(folder / "trace.zip", (folder / "trace.zip").stat().st_size // 2)


def write_result_without_tables(folder, _, __):
    (folder / "cluster_analysis_output").mkdir(parents=True)
    (folder / "cluster_analysis_output" / "cluster_analysis.db").write_bytes(b"")


def write_other_table(folder, _, __):
    folder.mkdir()
    (folder / "prices.csv").write_text("fruit,price\napple,3\n")


def write_store_of_nothing(folder, _, __):
    folder.mkdir()
    (folder / "trace.duckdb").write_bytes(b"no database")


@pytest.mark.parametrize("write", [
    lambda folder, trace, run_sonde: folder.mkdir(),
    write_cut_lake,
    write_cut_zip,
    write_result_without_tables,
    write_other_table,
    write_store_of_nothing,
])  # fmt: skip
def test_nothing_to_show_ends_with_the_line_of_query(
    run_sonde, one_error_line, trace, tmp_path, write
):
    folder = tmp_path / "named"
    write(folder, trace, run_sonde)
    asked = run_sonde("query", folder, "SELECT count(*) FROM slice")
    one_error_line(asked, 1, "named")
    shown = run_sonde("view", folder)
    one_error_line(shown, 1, "named")
    assert (shown.stdout, shown.stderr) == ("", asked.stderr)


def test_says_what_is_wrong(run_sonde, one_error_line, tmp_path):
    one_error_line(run_sonde("view", tmp_path / "nothing"), 1, "there is no", "nothing")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_sonde("view", tmp_path, "--port", port)
        one_error_line(done, 1, f"port {port}", "in use")
