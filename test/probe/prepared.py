"""Runs programs that begin with `import torch` as children of an interpreter that has imported it:
that import is most of what a small program takes (3 s of processor time of some 4).

As a module: Prepared. As a program (`python prepared.py`): that interpreter. It forks once a
request, a line of JSON on its standard input; the child goes on as the program's main module and
ends as an interpreter does. It has no thread when it forks, and nothing of ours is imported.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

# What a program may do before it imports torch without a difference to one that is prepared.
BEGINS_WITH_TORCH = re.compile(r"\s*(import [\w, ]+\n)*(import torch\b|import [\w, ]*\btorch\b)")
OF_OURS = re.compile(r"\b(sonde|msprobe)\b")


def may_be_prepared(source):
    """Whether torch is the first that a program imports, but for modules of Python itself."""
    found = BEGINS_WITH_TORCH.match(source)
    return found is not None and not OF_OURS.search(found[0])


class Prepared:
    """One interpreter, for as long as the tests of a file run. Not for several threads."""

    def __init__(self, environment):
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, program, arguments, folder, environment, timeout):
        """As subprocess.run() of it with its output captured as text."""
        words = [str(program), *map(str, arguments)]
        with tempfile.TemporaryDirectory(prefix="sonde-prepared-") as name:
            files = {"stdout": Path(name, "stdout"), "stderr": Path(name, "stderr")}
            request = {
                "words": words,
                "folder": str(folder),
                "environment": environment,
                "timeout": timeout,
                "files": [str(path) for path in files.values()],
            }
            print(json.dumps(request), file=self._process.stdin, flush=True)
            status = json.loads(self._process.stdout.readline())
            texts = {key: path.read_text() for key, path in files.items()}
        if status is None:
            raise subprocess.TimeoutExpired(words, timeout, texts["stdout"], texts["stderr"])
        return subprocess.CompletedProcess(words, status, **texts)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def status_of(child, timeout):
    """Exit status as subprocess gives it; None where it had to be ended."""
    deadline = time.monotonic() + timeout
    while True:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.002)


def await_request():
    """Answers requests; returns one in the child that is to run it, None at the end."""
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        print(json.dumps(status_of(child, request["timeout"])), flush=True)
    return None


def become(request):
    """What an interpreter does before it runs a program; returns the program's module."""
    program = request["words"][0]
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, path in enumerate(request["files"], 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    sys.argv = list(request["words"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    found = [path for path in sys.path[1:] if path not in paths]  # the first is that of this file
    sys.path[:] = [str(Path(program).parent), *paths, *found]
    module = types.ModuleType("__main__")
    module.__file__ = program
    sys.modules["__main__"] = module
    show = sys.excepthook
    sys.excepthook = lambda kind, value, trace: show(kind, value, trace and trace.tb_next)
    return module


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        import torch  # noqa: F401

        asked = await_request()
    if asked is not None:
        main = become(asked)
        exec(compile(Path(main.__file__).read_bytes(), main.__file__, "exec"), main.__dict__)  # noqa: S102
