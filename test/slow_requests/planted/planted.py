"""Plants causes of slow requests in the processes of a vLLM server: a plug-in of vLLM for tokenizer
and workers, and a middleware for the front-end.

A file in the folder SONDE_PLANTED orders what the tokenizer or a worker does next: `tokenizer`,
`worker<rank>`, with a JSON object. `<name>.begun` and `<name>.done` are there when that is so.
`GET /planted/<what>?<seconds>` orders what the front-end's event loop does.
"""

import ctypes
import gc
import json
import mmap
import os
import time
from pathlib import Path

FOLDER = Path(os.environ.get("SONDE_PLANTED", "."))
_OBJECTS = 2_000_000
_PAGES = 4096  # of a file
_heap = []


def register():
    """vLLM calls it in each of its processes."""
    import torch
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    tokenize = PreTrainedTokenizerBase.__call__

    def slow_tokenize(self, *args, **kwargs):
        _obey("tokenizer")
        return tokenize(self, *args, **kwargs)

    PreTrainedTokenizerBase.__call__ = slow_tokenize
    torch.nn.modules.module.register_module_forward_pre_hook(_before_module)


def _before_module(module, _):
    if type(module).__name__ == "Qwen2ForCausalLM":
        import torch

        is_job = torch.distributed.is_available() and torch.distributed.is_initialized()
        _obey(f"worker{torch.distributed.get_rank() if is_job else 0}")


def _obey(name):
    """Does what was ordered, as often as the order has it."""
    path = FOLDER / name
    if not path.exists():
        return
    order = json.loads(path.read_text())
    begun = FOLDER / f"{name}.begun"
    if not begun.exists():
        begun.touch()
    order["times"] -= 1
    if order["times"] > 0:
        (FOLDER / f"{name}.new").write_text(json.dumps(order))
        (FOLDER / f"{name}.new").rename(path)
    else:
        path.unlink()
    work = {"sleep": time.sleep, "work": _work, "compile": _compile, "pages": _pages}
    work[order["do"]](order["amount"])
    if order["times"] <= 0:
        (FOLDER / f"{name}.done").touch()


def _work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _pages(seconds):
    """Reads a file's pages through memory, each by itself, after it was asked to drop them:
    what a process does whose pages went to a disk or swap."""
    path = FOLDER / f"pages{os.getpid()}"
    if not path.exists():
        path.write_bytes(os.urandom(_PAGES * mmap.PAGESIZE))
    end = time.monotonic() + seconds
    with path.open("r+b") as file:
        os.fsync(file.fileno())
        while time.monotonic() < end:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
                pages.madvise(mmap.MADV_RANDOM)
                for page in range(_PAGES):
                    pages[page * mmap.PAGESIZE]
                    if time.monotonic() >= end:
                        break


_PROGRAM = """
def computed(values):
    return (values * {number}).sin() + torch.nn.functional.gelu(values)
"""


def _compile(number):
    """Code that no cache has: the number is in it. A function of its own each time, since torch
    makes what differs between two calls of one a variable."""
    import torch

    names = {"torch": torch}
    exec(compile(_PROGRAM.format(number=number), f"planted {number}", "exec"), names)
    torch.compile(names["computed"])(torch.ones(64, 64))


def _hold(seconds):
    """As an extension in C does that keeps Python's lock."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def _collect(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        gc.collect()


def _bind(processor):
    """The event loop's thread to one processor; below 0 to all of them."""
    everywhere = range(os.cpu_count())
    os.sched_setaffinity(0, everywhere if processor < 0 else {int(processor)})


def _fill(_):
    _heap.extend([] for _ in range(_OBJECTS - len(_heap)))


def _drop(_):
    _heap.clear()


class Plants:
    """ASGI middleware."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith("/planted/"):
            await self._app(scope, receive, send)
            return
        work = {"hold": _hold, "collect": _collect, "fill": _fill, "drop": _drop,
                "pages": _pages, "bind": _bind}  # fmt: skip
        work[path.rpartition("/")[2]](float(scope["query_string"] or 0))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
