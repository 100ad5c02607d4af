"""Object storage: a lake, recordings, parts and results in buckets of a server on this machine. A
proxy before it lets some requests fail. `make test-engine` runs them."""

import http.client
import http.server
import os
import re
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from cluster_modes import EIGHT, contents
from conftest import SONDE, free_port, wait_for_port

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
pytestmark = pytest.mark.skipif(not THOROUGH, reason="with SONDE_THOROUGH=1: make test-engine")
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
KERNELS = (
    "SELECT rank, name, count(*) AS calls, sum(dur)::BIGINT AS ns FROM device_task {where} "
    "GROUP BY ALL ORDER BY ALL"
)


class Proxy(http.server.ThreadingHTTPServer):
    """Hands requests to the server; every so many fail (one in 20)."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = port
        self.asked = []  # methods and paths
        self.forbids = False
        self.failed = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.server.asked.append((self.command, self.path))
        if self.server.forbids:
            return self.reply(403, {}, b"<Error><Code>AccessDenied</Code></Error>")
        if len(self.server.asked) % 20 == 7:
            self.server.failed += 1
            return self.reply(503, {}, b"<Error><Code>SlowDown</Code></Error>")
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        behind.request(self.command, self.path, body, dict(self.headers))
        got = behind.getresponse()
        content = got.read()
        headers = {k: v for k, v in got.getheaders() if k.lower() not in LEFT_OUT}
        if self.command == "HEAD":
            headers["Content-Length"] = got.getheader("Content-Length") or "0"
        return self.reply(got.status, headers, content)

    def reply(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    def log_message(self, *_):
        pass


LEFT_OUT = ("content-length", "transfer-encoding", "connection")


@pytest.fixture(scope="module", name="proxy")
def make_proxy(python):
    port = free_port()
    server = subprocess.Popen(
        [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for_port(port)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("PUT", "/bucket")
        assert connection.getresponse().status == 200
        proxy = Proxy(port)
        yield proxy
        proxy.shutdown()
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module", name="own")
def make_own(python, proxy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "AWS_"))}
    return {
        **variables,
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "SONDE_ENGINE_PYTHON": python,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.server_port}",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


def run(environment, *words):
    return subprocess.run(
        [str(word) for word in (SONDE, *words)], env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def done(environment, *words):
    ended = run(environment, *words)
    assert ended.returncode == 0, ended.stderr
    assert SECRET not in ended.stdout + ended.stderr
    return ended.stdout


def refused(ended):
    assert ended.returncode == 1, ended.stdout
    lines = ended.stderr.splitlines()
    errors = [line for line in lines if line.startswith("sonde: error: ")]
    assert len(errors) == 1 and "Traceback" not in ended.stderr, ended.stderr
    assert SECRET not in ended.stderr
    return errors[0]


def copied(environment, python, direction, uri, folder):
    """What lies there, by the module itself."""
    folder.mkdir(exist_ok=True)
    package = {**environment, "PYTHONPATH": str(SONDE.parents[3] / "python")}
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        command = [python, "-m", "sonde.engine.buckets", direction, uri, folder, "--report", report]
        subprocess.run(command, env=package, check=True, timeout=300)
        assert report.read_text() == "{}"
    return folder


@pytest.fixture(scope="module", name="lake")
def make_lake(own, shared_data):
    uri = "s3://bucket/lake"
    assert done(own, "lake", "add", shared_data / EIGHT, "--to", uri) == f"{uri}: 8 traces added\n"
    return uri


def test_a_lake_in_a_bucket(lake, own, proxy, shared_data):
    """A statement on one rank brings its file, and the first one, which shows the columns."""
    statement = KERNELS.format(where="WHERE rank = 3")
    del proxy.asked[:]
    ours = done(own, "query", lake, statement, "--format", "csv")
    assert ours == done(own, "query", shared_data / EIGHT, statement, "--format", "csv")
    ranks = re.findall(r"GET /bucket/lake/device_task/run(?:=|%3D)0/rank(?:=|%3D)(\d+)",
                       "\n".join(f"{method} {path}" for method, path in proxy.asked))  # fmt: skip
    assert len(set(ranks)) <= 2 and "3" in ranks
    assert proxy.failed > 3


def test_a_lake_in_a_bucket_is_that_of_a_folder(lake, own, shared_data):
    whole = KERNELS.format(where="")
    ours = done(own, "query", lake, whole, "--format", "csv")
    assert ours == done(own, "query", shared_data / EIGHT, whole, "--format", "csv")
    assert " 8 " in done(own, "lake", "list", lake)
    again = done(own, "lake", "add", shared_data / EIGHT, "--to", lake)
    assert again == f"{lake}: 0 traces added, 8 there already\n"


def test_what_cannot_be_is_one_line(lake, own, proxy, python, shared_data, tmp_path):
    without = {k: v for k, v in own.items() if not k.startswith(("AWS_ACCESS", "AWS_SECRET"))}
    assert "there are no credentials" in refused(run(without, "lake", "list", lake))
    assert "nothing of that name" in refused(run(own, "lake", "list", "s3://bucket/none"))
    assert "nothing of that name" in refused(run(own, "query", "s3://none/none", "SELECT 1"))
    line = refused(run(own, "lake", "list", f"s3://key:{SECRET}@bucket/lake"))
    assert "credentials and options are not read from a URI" in line
    assert "gcsfs" in refused(run(own, "lake", "list", "gs://bucket/lake"))
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {python} -S "$@"\n')
    bare.chmod(0o755)
    line = refused(run({**own, "SONDE_ENGINE_PYTHON": str(bare)}, "lake", "list", lake))
    assert "No module named 'fsspec': install it (pip install 'sonde[s3]'" in line
    proxy.forbids = True
    try:
        assert "no permission" in refused(run(own, "lake", "list", lake))
        refused(run(own, "lake", "add", shared_data / EIGHT, "--to", lake))
    finally:
        proxy.forbids = False


def test_an_object_that_is_cut_off_is_named(own, python, lake, tmp_path):
    folder = copied(own, python, "get", lake, tmp_path / "lake")
    (file,) = folder.glob("device_task/run=0/rank=5/*.parquet")
    file.write_bytes(file.read_bytes()[:-100])
    cut = f"{lake}-cut"
    copied(own, python, "put", cut, folder)
    line = refused(run(own, "query", cut, KERNELS.format(where="")))
    assert "is cut off" in line and "rank=5" in line
    done(own, "query", cut, KERNELS.format(where="WHERE rank = 4"))


def test_recordings_parts_and_results_in_buckets(own, python, shared_data, tmp_path):
    copied(own, python, "put", "s3://bucket/run", shared_data / EIGHT)
    one = tmp_path / "one"
    done(own, "cluster", "-m", "hccl_sum", "-d", shared_data / EIGHT, "-o", one)
    done(own, "cluster", "-m", "hccl_sum", "-d", "s3://bucket/run", "-o", "s3://bucket/out")
    whole = copied(own, python, "get", "s3://bucket/out", tmp_path / "whole")
    result = "cluster_analysis_output"
    assert contents(whole / result) == contents(one / result)
    words = ("cluster", "map", "-m", "hccl_sum", "s3://bucket/run", "-o", "s3://bucket/parts")
    done(own, *words)
    parts = copied(own, python, "get", "s3://bucket/parts", tmp_path / "parts")
    done(own, "cluster", "reduce", "-m", "hccl_sum", "s3://bucket/parts", "-o", "s3://bucket/put")
    reduced = copied(own, python, "get", "s3://bucket/put", tmp_path / "reduced")
    assert contents(reduced / result) == contents(one / result)
    for file in (*parts.rglob("*"), *whole.rglob("*"), *reduced.rglob("*")):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()
