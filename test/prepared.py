"""Programs that import torch, as children of an interpreter that has imported it: that import is
most of what a small program takes (3 s of processor time, 6 with an optimizer, of some 8).

As a module: Prepared, whose `python` stands in for an interpreter, also below `sonde run`. It is
this file as a program (`python -IS prepared.py WORDS`, by a script of its own), which hands its
words, folder, environment and standard streams to the interpreter that is prepared, and passes on
signals and the exit status. That (`python prepared.py --serve`) forks for each program.

A program finds torch as in a new interpreter: what `import torch` does, and the start-up hook
around it, comes when the program imports it. What differs: parts of torch are in `sys.modules`
before, the process is no child of who starts it, its command line is that of this file, and
variables of the loader (LD_PRELOAD) come too late. So what is tested of launchers, of process
groups, of device libraries and of the start itself starts an interpreter of its own.
"""

import array
import contextlib
import json
import os
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import types

# What makes torch import its compiler, which takes as long as all of the rest.
NEEDS_COMPILER = re.compile(r"optim\b|compile|_dynamo|checkpoint|GradScaler|Optimizer")
ADDRESS = "SONDE_TEST_PREPARED"
STATUS = struct.Struct("i")
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


class Prepared:
    """One interpreter, for as long as the tests of a process run; made when it is first used."""

    def __init__(self):
        self._folder = None
        self._process = None

    @property
    def python(self):
        """Path of what stands in for `sys.executable`."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="sonde-prepared-")
            self._start()
        return os.path.join(self._folder, "python")

    def _start(self):
        with open(os.path.join(self._folder, "python"), "w") as script:
            words = [sys.executable, "-IS", os.path.abspath(__file__), self._folder]
            script.write(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
        os.chmod(script.name, 0o755)
        variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
        variables.pop("PYTHONPATH", None)
        variables["OMP_NUM_THREADS"] = "1"  # read once, when torch is loaded
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", self._folder], env=variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout.readline() == b"ready\n"

    def close(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process.stdout.close()
            subprocess.run(["rm", "-rf", self._folder], check=True)


# -- what stands in for an interpreter


def program_text(words):
    """The source of what is to run, as far as that is known."""
    if words[:1] == ["-c"]:
        return words[1]
    with contextlib.suppress(OSError, IndexError), open(words[0]) as file:
        return file.read()
    return "compile"  # a module


def ask(folder, words):
    if words[0] == "-u":  # as torchrun starts its ranks
        words = words[1:]
    kind = "compiler" if NEEDS_COMPILER.search(program_text(words)) else "torch"
    asked = socket.socket(socket.AF_UNIX)
    asked.connect(os.path.join(folder, kind))
    request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
    streams = array.array("i", [0, 1, 2])
    asked.sendmsg(
        [struct.pack("i", len(request))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
    )
    asked.sendall(request)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: asked.send(bytes([number])))
    status = STATUS.unpack(asked.recv(STATUS.size))[0]
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in (9, 19) else None
        os.kill(os.getpid(), -status)
    os._exit(status)


# -- the interpreter that is prepared


def receive(asked):
    """(words, folder, environment), standard streams."""
    head, control, _, _ = asked.recvmsg(4, socket.CMSG_SPACE(3 * 4))
    streams = array.array("i")
    streams.frombytes(control[0][2][: 3 * streams.itemsize])
    left, parts = struct.unpack("i", head)[0], []
    while left:
        parts.append(asked.recv(left))
        left -= len(parts[-1])
    return json.loads(b"".join(parts)), streams


class Helper:
    """A child that has imported the compiler, too: it goes on with the requests for that, for as
    long as its parent, which waits for it at its end."""

    def __init__(self):
        self.number, self.pipe = 0, None

    def fork(self):
        """True in the child."""
        reads, self.pipe = os.pipe()
        self.number = os.fork()
        os.close(self.pipe if self.number == 0 else reads)
        self.pipe = reads if self.number == 0 else self.pipe
        return self.number == 0

    def end(self, *_):
        if self.number:
            os.close(self.pipe)
            os.waitpid(self.number, 0)
        os._exit(0)


def await_request(sockets, parent=None):
    """Answers requests; returns one in the child that is to run it."""
    waker, woken = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    helper, running, chosen = Helper(), {}, selectors.DefaultSelector()
    signal.signal(signal.SIGTERM, helper.end)
    for source in (woken, *sockets.values(), *([parent] if parent is not None else [])):
        chosen.register(source, selectors.EVENT_READ)
    while True:
        for key, _ in chosen.select():
            if key.fileobj is woken:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
                end_programs(running, chosen)
            elif key.fileobj == parent:
                os._exit(0)
            elif key.fileobj is sockets.get("compiler") and "torch" in sockets:
                listening = sockets.pop("compiler")
                chosen.unregister(listening)
                if helper.fork():
                    chosen.close()
                    import torch._dynamo  # noqa: F401

                    return await_request({"compiler": listening}, helper.pipe)
            elif key.fileobj in sockets.values():
                asked, _ = key.fileobj.accept()
                request, streams = receive(asked)
                child = os.fork()
                if child == 0:
                    chosen.close()
                    forget([*sockets.values(), asked, waker, woken, *running.values()])
                    forget([pipe for pipe in (helper.pipe, parent) if pipe is not None])
                    return request, streams
                for stream in streams:
                    os.close(stream)
                running[child] = asked
                chosen.register(asked, selectors.EVENT_READ, child)
            else:  # a signal to pass on, or who asked is gone
                number = key.fileobj.recv(1) or bytes([signal.SIGKILL])
                if key.data in running:
                    os.kill(key.data, number[0])
                if number[0] == signal.SIGKILL:
                    chosen.unregister(key.fileobj)


def forget(files):
    """Of the interpreter that forked: what it waits for."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for file in files:
        os.close(file if isinstance(file, int) else file.detach())


def end_programs(running, chosen):
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        asked = running.pop(child, None)
        if asked is None:
            continue
        with contextlib.suppress(OSError):
            asked.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))
        with contextlib.suppress(KeyError):
            chosen.unregister(asked)
        asked.close()


class Known:
    """Finds torch, which is loaded: `import torch` runs through all finders as ever."""

    def __init__(self, torch):
        self._torch = torch

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        from importlib.machinery import ModuleSpec

        spec = ModuleSpec("torch", self, origin=self._torch.__file__, is_package=True)
        spec.submodule_search_locations = list(self._torch.__path__)
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return self._torch

    def exec_module(self, module):
        sys.meta_path.remove(self)


def become(request, streams, bytecode):
    """What an interpreter does before it runs a program. Of our modules the bytecode is kept, for
    the other programs of this interpreter."""
    words, folder, environment = request
    sys.dont_write_bytecode, sys.pycache_prefix = False, bytecode
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    script = folder if words[0] in ("-c", "-m") else os.path.dirname(os.path.abspath(words[0]))
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*paths, *sys.path[1:]]  # the first is that of this file
    sys.orig_argv[:] = [sys.executable, *words]
    sys.argv[:] = words
    sys.meta_path.append(Known(sys.modules.pop("torch")))
    # Behind the others it would not be asked: the finder of the search path knows torch, too.
    sys.meta_path.insert(0, sys.meta_path.pop())
    sys.path_importer_cache.clear()
    with contextlib.suppress(ImportError):
        import sitecustomize  # noqa: F401
    sys.path.insert(0, "" if words[0] == "-c" else script)
    show = sys.excepthook

    def excepthook(kind, value, trace):
        trace = trace and trace.tb_next  # without this file
        show(kind, value.with_traceback(trace), trace)

    sys.excepthook = excepthook


def main_of(words):
    """The code of the program and its namespace, which is that of `__main__` from here on."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        source = "import runpy\nrunpy.run_module(runpy.sys.argv[0], None, '__main__', True)"
        return compile(source, "<module>", "exec"), main.__dict__
    if words[0] == "-c":
        sys.argv[:] = ["-c", *words[2:]]
        return compile(words[1], "<string>", "exec"), main.__dict__
    main.__file__ = words[0]
    with open(words[0], "rb") as file:
        return compile(file.read(), words[0], "exec"), main.__dict__


def serve(folder):
    import gc

    sockets = {}
    for kind in ("torch", "compiler"):
        sockets[kind] = socket.socket(socket.AF_UNIX)
        sockets[kind].bind(os.path.join(folder, kind))
        sockets[kind].listen(64)
    import torch  # noqa: F401

    gc.collect()
    gc.freeze()  # what ends need not look at what all have
    print("ready", flush=True)
    return await_request(sockets)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        asked_for = serve(sys.argv[2])
        become(*asked_for, os.path.join(sys.argv[2], "bytecode"))
        exec(*main_of(asked_for[0][0]))  # noqa: S102
    else:
        ask(sys.argv[1], sys.argv[2:])
