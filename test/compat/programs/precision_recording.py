"""What the programs of a comparison share: the list of them, steps of a dump, digests."""

import contextlib
import hashlib

import torch

PROGRAMS = {}


def program(function):
    """One more; it gets ``recording`` and gives the tensors that it computed."""
    PROGRAMS[function.__name__] = function
    return function


class Recording:
    """``with recording(model): ...`` is a step."""

    def __init__(self, debugger):
        self.debugger = debugger

    @contextlib.contextmanager
    def __call__(self, model, ends=True):
        if self.debugger is not None:
            self.debugger.start(model=model)
        yield
        if self.debugger is not None:
            self.debugger.stop()
            if ends:
                self.debugger.step()


def main(config, *names):
    """Runs the named programs, or all."""
    torch.set_num_threads(1)
    debugger = None
    if config != "-":
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=config)
    for number, name in enumerate(names or PROGRAMS):
        torch.manual_seed(number)
        digest = hashlib.sha256()
        for tensor in PROGRAMS[name](Recording(debugger)):
            digest.update(tensor.detach().resolve_conj().to(torch.complex128).numpy().tobytes())
        print("digest", name, digest.hexdigest())
