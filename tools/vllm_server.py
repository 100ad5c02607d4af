"""A vLLM server under Sonde for the demo and the tests: start, ask, profile, end.

The server gets two cores at most, a port of its own on 127.0.0.1, and the small model. Errors:
``ServerError`` with the last lines of its log.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

START_LIMIT_S = 600
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


class ServerError(RuntimeError):
    """The server did not start, or ended."""


def reserve_port():
    """A socket on a port that the system chose, and gives to nobody else as long as it is open.
    It does not listen, so a server that may reuse addresses, as vLLM's, can be given that port."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


# How a server is started, by what follows the interpreter.
WAYS = {
    "serve": ("vllm", "serve", "{model}"),
    "path": ("{bin}/vllm", "serve", "{model}"),
    "api_server": ("-m", "vllm.entrypoints.openai.api_server", "--model", "{model}"),
    "cli": ("-m", "vllm.entrypoints.cli.main", "serve", "{model}"),
}


class Server:
    """``[launcher...] vllm serve MODEL ...``, or another of WAYS; ``python`` is the interpreter
    that has vLLM."""

    def __init__(
        self, python, model, log, launcher=(), ranks=1, options=(), environment=None, way="serve"
    ):
        self.reserved = reserve_port()
        self.port = self.reserved.getsockname()[1]
        self.log = Path(log)
        bin_folder = Path(python).parent
        words = [word.format(bin=bin_folder, model=model) for word in WAYS[way]]
        command = [
            *map(str, launcher), *([str(python)] if words[0] == "-m" else []), *words,
            "--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "512",
            "--host", "127.0.0.1", "--port", str(self.port), "--enforce-eager", "--seed", "0",
            *map(str, options),
        ]  # fmt: skip
        environment = {**os.environ, **QUIET, **(environment or {})}
        environment["PATH"] = f"{Path(python).parent}:{environment['PATH']}"
        if ranks > 1:
            command += ["--tensor-parallel-size", str(ranks)]
            cores = sorted(os.sched_getaffinity(0))
            binding = "|".join(str(cores[rank % len(cores)]) for rank in range(ranks))
            environment["VLLM_CPU_OMP_THREADS_BIND"] = binding
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip

    def __enter__(self):
        try:
            self._await_start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def _await_start(self):
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise ServerError(f"the server ended\n{self.last_lines()}")
            if self.answers():
                return
            time.sleep(0.5)
        raise ServerError(f"the server did not start in {START_LIMIT_S} s\n{self.last_lines()}")

    def answers(self):
        """Whether it serves already."""
        with contextlib.suppress(OSError):
            return self.call("/health")[0] == 200
        return False

    def last_lines(self, count=40):
        """With the first errors before them: an engine's comes long before its front-end's."""
        lines = self.log.read_text(errors="replace").splitlines()
        is_error = re.compile(r"(\(.*?\) )?\w*Error\b|.*ERROR").match
        errors = list(filter(is_error, lines[:-count]))
        return "\n".join([*errors[:count], "...", *lines[-count:]])

    def call(self, path, body=None, post=False, timeout=300, headers=None):
        """Status and text of a request; ``body`` is sent as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data if data or not post else b"",
            headers={"Content-Type": "application/json", **(headers or {})},
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read().decode()

    def ask(self, prompt, tokens, **options):
        """Text of a completion of exactly ``tokens`` tokens, the likeliest ones."""
        body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0,
                "ignore_eos": True, **options}  # fmt: skip
        status, text = self.call("/v1/completions", body)
        if status != 200:
            raise ServerError(f"{status}: {text}\n{self.last_lines()}")
        return json.loads(text)["choices"][0]["text"]

    def abandon(self, path, body, pieces):
        """Goes away after some pieces of a stream."""
        data = json.dumps(body).encode()
        head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n")  # fmt: skip
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(head.encode() + data)
            seen = b""
            while seen.count(b"data: ") < pieces:
                piece = connection.recv(65536)
                if not piece:
                    raise ServerError(f"the stream ended early\n{self.last_lines()}")
                seen += piece

    def profile(self, action, body=None):
        """``action`` is start or stop; status, text and the seconds that it took."""
        started = time.monotonic()
        status, text = self.call(f"/{action}_profile", body, post=True)
        return status, text, time.monotonic() - started

    def end(self):
        """Ends the server and all its processes."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=90)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.reserved.close()
