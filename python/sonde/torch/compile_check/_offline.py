"""Generated code of a folder, checked without the program that it was compiled for.

Of each graph the folder has the generated code and the text of what it computes. The code runs with
random inputs of the sizes, strides and types that it was compiled for. Which value each buffer
holds is found by compiling the graph once more; where this torch lays the buffers out otherwise,
nothing is known of them, and the reason is counted. The folder is read only.
"""

import glob
import os
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sonde.torch.compile_check._graph_text import NotRead, graph_module
from sonde.torch.compile_check._graphs import Graphs

_GRAPH_TEXT = "fx_graph_transformed.py"
_CODE = "output_code.py"
_CALLS = re.compile(r"\nasync_compile\.wait\(globals\(\)\)\n(.*?)(?=\ndef |\Z)", re.DOTALL)
_KERNEL_NAME = re.compile(r"\bcpp_fused_\w+")  # of operators before decomposition, no longer known
_COMMENT = re.compile(r"(?m)^\s*#.*\n|\s+#.*$")


@dataclass(frozen=True)
class Kept:
    """One compiled graph of a folder."""

    path: str
    graph: str
    code: str
    has_constants: bool = False


@dataclass
class Outcome:
    """``reasons``: why graphs were not checked, with their number."""

    graphs: int = 0
    checked: int = 0
    reasons: "Counter[str]" = field(default_factory=Counter)


def find(folder: str) -> Iterator[Kept]:
    """What a cache of torch, or ``TORCH_COMPILE_DEBUG=1``, left there. Files of a cache are
    pickles: reading them runs what is in them, as torch does."""
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "**", _CODE), recursive=True)):
        graph = os.path.join(os.path.dirname(path), _GRAPH_TEXT)
        if os.path.isfile(graph):
            yield Kept(path, _text(graph), _text(path))
    places = os.path.join(glob.escape(folder), "**", "fxgraph", "*", "*", "*")
    for path in sorted(glob.glob(places, recursive=True)):
        try:
            with open(path, "rb") as file:
                compiled = pickle.load(file)  # noqa: S301: what torch itself does with it
        except Exception:  # noqa: BLE001: of another torch, or cut off
            yield Kept(path, "", "")
            continue
        code = getattr(compiled, "source_code", "") or ""
        graph = getattr(compiled, "inductor_post_grad_graph_str", "") or ""
        yield Kept(path, graph, code, bool(getattr(compiled, "constants", None)))


def check(torch: Any, kept: Kept, graphs: Graphs) -> None:
    """Runs the code with the kernels that lead to the check. Raises ``NotRead``."""
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.compile_fx import compile_fx_inner

    if not kept.graph or not kept.code:
        raise NotRead("the file cannot be read by this torch, or holds no graph")
    if kept.has_constants:
        raise NotRead("it has constants")
    if "cpp_pybinding" not in kept.code:
        raise NotRead("it has no generated kernel for the CPU")
    torch.manual_seed(0)
    module = PyCodeCache.load(kept.code)
    if not hasattr(module, "get_args"):
        raise NotRead("it does not say what its inputs are")
    inputs = module.get_args()
    before = set(graphs.files())
    with torch.no_grad():
        compile_fx_inner(graph_module(torch, kept.graph), list(inputs))
        made = [file for file in graphs.files() if file not in before or file == module.__file__]
        if not made or _calls_in(_text(made[-1])) != _calls_in(kept.code):
            raise NotRead("this torch compiles its graph otherwise")
        graphs.share(made[-1], module.__file__, kept.code)
        module.call(list(inputs))


def check_all(torch: Any, folder: str, graphs: Graphs) -> Outcome:
    """Whatever cannot be checked is counted."""
    outcome = Outcome()
    for kept in find(folder):
        outcome.graphs += 1
        try:
            check(torch, kept, graphs)
            outcome.checked += 1
        except NotRead as reason:
            outcome.reasons[str(reason)] += 1
        except Exception as problem:  # noqa: BLE001: whatever torch makes of a foreign file
            text = str(problem).strip().split("\n", 1)[0][:80]
            outcome.reasons[f"torch refuses it: {type(problem).__name__}: {text}"] += 1
    return outcome


def _calls_in(code: str) -> str:
    """Without what says nothing of the buffers."""
    found = _CALLS.search(code)
    return _KERNEL_NAME.sub("cpp", _COMMENT.sub("", found[1])) if found is not None else ""


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
