"""``reproduce``: one call of a dump as a Python file, with its inputs in a .pt beside it.

The file needs torch only. It runs the call in the dump's types, on an accelerator where there is
one, and in double precision on the CPU, and prints how far the results and gradients lie apart.
"""

import os
import re
from typing import Any

from sonde._new_file import create_new
from sonde.torch.check import _entries
from sonde.torch.check._calls import _HOLDERS, resolve
from sonde.torch.check._values import Maker

_SEED = 1234
# Modules that nothing but their parameters describes: function, and its arguments behind the input.
_MODULES = {
    "Linear": ("torch.nn.functional.linear", ("weight", "bias")),
    "Embedding": ("torch.nn.functional.embedding", ("weight",)),
    "ReLU": ("torch.nn.functional.relu", ()),
    "SiLU": ("torch.nn.functional.silu", ()),
    "Sigmoid": ("torch.sigmoid", ()),
    "Tanh": ("torch.tanh", ()),
}
_PREFIX = {"Functional": "torch.nn.functional", "Tensor": "torch.Tensor", "Torch": "torch"}

_TEXT = '''\
"""{title}

{origin}
Run: python3 {file}
"""

from pathlib import Path

import torch

TENSORS = torch.load(Path(__file__).with_name("{tensors}"), weights_only=True)
GRADIENT = TENSORS.get("gradient")  # that went backward through the first result, or None


def device():
    """Where the call runs in the dump's types."""
    if torch.cuda.is_available():
        return "cuda"
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        return accelerator.current_accelerator().type
    return "cpu"


def call(tensors):
    """The call itself; edit what you want to try."""
    return {function}({arguments})


def run(where, dtype=None):
    """Results and gradients, by name."""
    tensors = {{}}
    for name, value in TENSORS.items():
        if dtype is not None and value.is_floating_point():
            value = value.to(dtype)
        value = value.to(where).detach().clone()
        # Times one: a function may change its argument in place, which a leaf refuses.
        tensors[name] = value.requires_grad_() * 1 if name in TRACKED else value
        if name in TRACKED:
            tensors[name].retain_grad()
    results = call(tensors)
    results = results if isinstance(results, (list, tuple)) else [results]
    found = {{f"result {{i}}": value for i, value in enumerate(results)}}
    if GRADIENT is not None:
        results[0].backward(tensors["gradient"].to(results[0].dtype))
        found.update({{f"gradient of {{n}}": tensors[n].grad for n in TRACKED}})
    return found


TRACKED = {tracked}  # arguments that require gradients

if __name__ == "__main__":
    torch.manual_seed({seed})
    ours = run(device())
    torch.manual_seed({seed})
    exact = run("cpu", torch.float64)
    print(f"on {{device()}} against double precision on the CPU")
    for name, value in ours.items():
        if not isinstance(value, torch.Tensor) or not isinstance(exact[name], torch.Tensor):
            print(f"{{name:24}} {{value}}   {{exact[name]}}")
            continue
        a, b = value.detach().cpu().double(), exact[name].detach().double()
        both = torch.isfinite(a) & torch.isfinite(b)
        apart = torch.where(both, a - b, 0.0)
        length = torch.linalg.vector_norm(torch.where(both, b, 0.0)).item()
        relative = torch.linalg.vector_norm(apart).item() / length if length else 0.0
        other = int((~both & ~((a == b) | (a.isnan() & b.isnan()))).sum())
        print(
            f"{{name:24}} {{str(value.dtype):16}} {{str(list(value.shape)):18}} "
            f"largest {{apart.abs().max().item() if apart.numel() else 0:.3e}}  "
            f"relative {{relative:.3e}}  NaN or infinity on one side {{other}}"
        )
'''


def find(dump: _entries.Dump, entry: str) -> str:
    """The call or module that ``entry`` names; raises ``ValueError`` where it cannot be run."""
    name = re.sub(r"\.(forward|backward)$", "", entry)
    if name in dump.forward:
        if not isinstance(dump.forward[name], dict):
            raise ValueError(f"{dump.path}: {name}.forward is no record of a call")
        return name
    found = _module_entry(dump, entry).replace(".backward.", ".forward.")
    if not found:
        raise ValueError(_unknown(dump, entry))
    kind = _kind(found)
    if kind not in _MODULES or not dump.modules.get(found):
        raise ValueError(
            f"{found}: the dump does not record how a {kind} was built; record with the level mix "
            f"and give one of its functions ({', '.join(sorted(_MODULES))} go by themselves)"
        )
    return found


def write(torch: Any, dump: _entries.Dump, entry: str, folder: str) -> str:
    """Writes both files of what ``find()`` found below ``folder``; gives the program's path."""
    torch.manual_seed(_SEED)
    parts = _Parts(torch, Maker(torch, dump.tensors))
    if entry in dump.forward:
        name = entry
        function, arguments = _of_function(parts, dump, name)
    else:
        name, function, arguments = _of_module(parts, dump, entry)
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, f"{name}.py")
    with open(os.path.join(folder, f"{name}.pt"), "wb", opener=create_new) as file:
        torch.save(parts.tensors, file)
    kept = "its inputs as they were saved" if parts.saved else "inputs made of their statistics"
    with open(program, "w", encoding="utf-8", opener=create_new) as file:
        file.write(
            _TEXT.format(
                title=f"{name}, by itself.",
                origin=f"From {dump.path}: {kept}.",
                file=os.path.basename(program),
                tensors=f"{name}.pt",
                function=function,
                arguments=", ".join(arguments),
                tracked=repr(parts.tracked),
                seed=_SEED,
            )
        )
    return program


class _Parts:
    """Arguments as program text, and the tensors they name."""

    def __init__(self, torch: Any, maker: Maker) -> None:
        self.torch = torch
        self.maker = maker
        self.tensors: dict[str, Any] = {}
        self.tracked: list[str] = []
        self.saved = maker.folder is not None

    def text(self, name: str, value: Any) -> str:
        torch = self.torch
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                self.tracked.append(name)
            self.tensors[name] = value.detach()
            return f"tensors[{name!r}]"
        if isinstance(value, torch.Size):
            return f"torch.Size({list(value)})"
        if isinstance(value, (list, tuple)):
            inner = ", ".join(self.text(f"{name}.{i}", item) for i, item in enumerate(value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if inner else "()"
        if value is Ellipsis:
            return "..."
        if isinstance(value, torch.device):
            return "device()"
        if isinstance(value, float) and value in (float("inf"), float("-inf")) or value != value:
            return f"float({str(value)!r})"
        return repr(value)


def _of_function(parts: _Parts, dump: _entries.Dump, call: str) -> "tuple[str, list[str]]":
    kind, function = _entries.kind_and_function(call)
    if kind not in _HOLDERS:
        raise ValueError(f"{call}: only Functional, Tensor and Torch functions run by themselves")
    resolve(parts.torch, kind, function)
    record = dump.forward[call]
    positional, named = parts.maker.arguments(function, record, True)
    arguments = [parts.text(f"input.{i}", value) for i, value in enumerate(positional)]
    arguments += [f"{key}={parts.text(key, value)}" for key, value in named.items()]
    _add_gradient(parts, function, dump.backward.get(call))
    holder = _PREFIX[kind]
    if kind == "Torch" and not hasattr(parts.torch, function.split(".")[0]):
        holder = "torch.linalg"
    return f"{holder}.{function}", arguments


def _add_gradient(parts: _Parts, function: str, backward: Any) -> None:
    records = backward.get("input") if isinstance(backward, dict) else None
    first = parts.maker.value(function, list(records))[0] if records else None
    if isinstance(first, parts.torch.Tensor) and parts.tracked:
        parts.tensors["gradient"] = first.detach()


def _kind(entry: str) -> str:
    """The class of a module's entry."""
    return entry.split(".forward.")[0].rpartition(".")[2]


def _module_entry(dump: _entries.Dump, entry: str) -> str:
    tries = (entry, re.sub(r"\.(\d+)$", r".forward.\1", entry))
    return next((name for name in tries if name in dump.modules), "")


def _of_module(parts: _Parts, dump: _entries.Dump, entry: str) -> "tuple[str, str, list[str]]":
    record = dump.modules[entry]
    function, names = _MODULES[_kind(entry)]
    positional, _ = parts.maker.arguments("", record, True)
    arguments = [parts.text(f"input.{i}", value) for i, value in enumerate(positional)]
    given = record.get("parameters") or {}
    for name in names:
        records = given.get(name)
        if records:
            info = records[0] if isinstance(records, list) else records
            arguments.append(parts.text(name, parts.maker.value("", info)))
    _add_gradient(parts, "", dump.modules.get(entry.replace(".forward.", ".backward.")))
    return entry.replace(".forward.", "."), function, arguments


def _unknown(dump: _entries.Dump, entry: str) -> str:
    import difflib

    near = difflib.get_close_matches(entry, [*dump.forward, *dump.modules], n=1, cutoff=0.5)
    return f"{dump.path} has no call '{entry}'" + (f"; did you mean '{near[0]}'?" if near else "")
