"""Which modules, source lines and operators a kernel of compiled code comes from.

Follows torch's compiler from its import on. Of each generated module that is loaded, be it new or
from a cache of torch, a table of its calls (``_graph_sites``) goes into the metadata of captures:
``compiled_graph:<file>``, and into the user's cache folder, since a graph that comes from
AOTAutograd's cache knows nothing of its modules. What is compiled computes what it would without
us; torch's cache holds it under another key once, since it keeps more about itself. Threads: any.
"""

import json
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, Optional

from sonde import _native
from sonde._new_file import create_new
from sonde._seams import Around, Part, Seam, when_imported
from sonde.torch import _graph_buffers, _graph_guess, _graph_sites, _graph_work, _model_names
from sonde.torch._graph_nodes import NodeFacts, graph_facts
from sonde.torch._graph_sites import Sources
from sonde.torch._graph_work import Work

#: Keys of the metadata begin with this; the rest is the name of the generated file.
METADATA = "compiled_graph:"

_SINCE = (2, 10)  # of torch: before, it kept no nodes
_LEVEL = 1  # of torch's own notes about kernels: nodes of the graph for each call
_KEPT = 256  # graphs of Dynamo whose backward part may still be compiled
_LOOKED_AT = 16  # modules of a graph by which it is found in its model
_watched: "list[_Graphs]" = []
_tables: dict[str, dict[str, Any]] = {}  # by generated file


def watch() -> None:
    """From now on. Once a process."""
    if _watched:
        return
    graphs = _Graphs()
    _watched.append(graphs)
    when_imported("torch._inductor.config", _raise_level)
    for seam in seams(graphs):
        seam.install()


def table_of(file: str) -> dict[str, Any]:
    """What is known of the calls in a generated module, and in ``values`` of its buffers; empty
    where that is nothing."""
    return _tables.get(file, {})


def tables() -> dict[str, dict[str, Any]]:
    """All of this process so far."""
    return dict(_tables)


def module_of(table: dict[str, Any], number: int) -> tuple[str, str]:
    """Path from the model, or the class where it is the model, and class of a table's module."""
    path, kind, _ = table["modules"][number]
    return ".".join(part for part in (table["prefix"], path) if part) or kind, kind


def lines_of(table: dict[str, Any], site: dict[str, Any]) -> list[str]:
    """ "model.py(12)" of the operators of a call, that of its module first."""
    numbers = [*site.get("frames", [])[:1], *site.get("lines", [])]
    return [f"{table['frames'][number][0]}({table['frames'][number][1]})" for number in numbers]


def seams(graphs: "Optional[_Graphs]" = None) -> tuple[Seam, ...]:
    """Graphs as they are compiled or come from a cache."""
    graphs = graphs or _Graphs()
    return (
        Seam(
            "modules of compiled graphs",
            "torch._inductor.compile_fx",
            (Part("compile_fx", graphs.dynamo_graph),),
            since=_SINCE,
            is_extra=True,
        ),
        Seam(
            "nodes of compiled graphs",
            "torch._inductor.graph",
            (Part("GraphLowering.compile_to_module", graphs.generated),),
            since=_SINCE,
            is_extra=True,
        ),
        Seam(
            "calls of compiled graphs",
            "torch._inductor.output_code",
            (Part("CompiledFxGraph.post_compile", graphs.loaded),),
            since=_SINCE,
            is_extra=True,
        ),
    )


def _raise_level(config: Any) -> None:
    """Torch since 2.10 keeps the nodes of each kernel where it is asked to; what is there stays."""
    trace = getattr(config, "trace", None)
    if getattr(trace, "provenance_tracking_level", _LEVEL) < _LEVEL:
        trace.provenance_tracking_level = _LEVEL  # type: ignore[union-attr]


@dataclass
class _New:
    """Of code that was just generated: its ``nodes``, names of the nodes of each of its ``calls``,
    their ``work``, and the buffer that ``held`` the value of each."""

    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    held: dict[str, str] = field(default_factory=dict)


class _Graphs:
    """What was seen of the compiler, until a generated module needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = threading.local()
        self._dynamo: dict[str, dict[str, NodeFacts]] = {}  # by torch's number of the compilation
        self._new: dict[str, _New] = {}  # by generated file

    def dynamo_graph(self, model_: Any, *_: Any, **__: Any) -> Around:
        """``compile_fx`` gets the graph that Dynamo traced; it calls itself for options."""
        if getattr(self._thread, "nodes", None) is not None or not hasattr(model_, "graph"):
            return
        nodes = graph_facts(model_.graph)
        self._thread.nodes = nodes
        self._keep(compile_id(), nodes)
        try:
            yield
        finally:
            self._thread.nodes = None

    def _keep(self, number: str, nodes: dict[str, NodeFacts]) -> None:
        if not number:
            return
        with self._lock:
            self._dynamo[number] = nodes
            while len(self._dynamo) > _KEPT:
                del self._dynamo[next(iter(self._dynamo))]

    def generated(self, lowering: Any) -> Around:
        """Only new code passes here; its graph knows the nodes of backward, too."""
        module = yield
        file = getattr(module, "__file__", None)
        graph = getattr(getattr(lowering, "module", None), "graph", None)
        if file and graph is not None:
            new = _New(
                graph_facts(graph),
                _nodes_of_calls(),
                _graph_work.work_of(lowering),
                _graph_buffers.held_by(lowering, graph),
            )
            with self._lock:
                self._new[file] = new

    def loaded(self, compiled: Any, *args: Any, **kwargs: Any) -> Around:
        """``post_compile`` runs before the first call, of new graphs and of those of a cache."""
        file = file_of(compiled.current_callable)
        text = getattr(compiled, "source_code", None)
        yield
        if not file or not text:
            return
        options = next((each for each in args if isinstance(each, dict)), kwargs)
        is_backward = bool(options.get("is_backward"))
        table, is_of_none = self._table(file, text, compiled)
        if _graph_sites.share_with_module(table) == 0 and not is_backward:
            _ask_inputs(compiled, file, text, table, is_of_none)
        _publish(file, table, is_backward, getattr(compiled, "_fx_graph_cache_key", None) or "")

    def _table(self, file: str, text: str, compiled: Any) -> "tuple[dict[str, Any], bool]":
        """And whether the graph was traced here and has no modules: a function's own."""
        number = compile_id()
        with self._lock:
            new = self._new.pop(file, _New())
            dynamo = getattr(self._thread, "nodes", None) or self._dynamo.get(number, {})
        mapping = json.loads(getattr(compiled, "inductor_provenance_mapping_str", None) or "{}")
        mapping["cppCodeToPost"] = new.calls or mapping.get("cppCodeToPost", {})
        table = _graph_sites.table_of(text, Sources(new.nodes, dynamo, mapping, work=new.work))
        table["values"] = _graph_buffers.values_of(new.held, dynamo, mapping)
        nodes = [*new.nodes.values(), *dynamo.values()]
        is_of_none = bool(nodes) and not any(each.modules for each in nodes)
        return _best(file, table, is_new=bool(new.nodes)), is_of_none


def _publish(file: str, table: dict[str, Any], is_backward: bool, key: str) -> None:
    prefix = ""
    if "by" not in table and table["modules"]:  # by parameters, paths are whole
        prefix, name = _model_names.place_of(
            [(each[0], each[1]) for each in table["modules"][:_LOOKED_AT]]
        )
        if name and all(each[0] for each in table["modules"]):
            table = _graph_sites.with_root(table, name)
    fact = {
        **table,
        "file": os.path.basename(file),
        "backward": is_backward,
        "compile_id": compile_id(),
        "key": key,
        "prefix": prefix,
    }
    _tables[file] = fact
    shown = {key: each for key, each in fact.items() if key != "values"}
    _native.recorder().metadata(METADATA + fact["file"], _native.json_text(shown))


def _ask_inputs(
    compiled: Any, file: str, text: str, table: dict[str, Any], is_of_none: bool
) -> None:
    """A graph that another process compiled says nothing of its modules: its parameters do, and
    those it gets when it is first called. A function of no module has none to find."""
    function = compiled.current_callable
    if function is None:
        return

    def first_call(inputs: Any) -> Any:
        compiled.current_callable = function
        try:
            guessed = _guess(text, inputs)
            for line, site in guessed["sites"].items():
                site["operators"] = table["sites"].get(line, site)["operators"]
            known = _graph_sites.share_with_module(guessed)
            if known > 0:
                _publish(file, {**guessed, "by": "parameters"}, False, "")
            elif not is_of_none:
                _report_unknown(file, len(guessed["sites"]))
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            _native.recorder().report_issue(f"modules of compiled code: {problem!r}")
        return function(inputs)

    first_call._boxed_call = True  # type: ignore[attr-defined]
    compiled.current_callable = first_call


def _guess(text: str, inputs: Any) -> dict[str, Any]:
    tensors = _model_names.Models().tensors()
    owners: dict[str, list[str]] = {}
    roots: dict[int, Any] = {}
    for name, value in zip(_graph_guess.inputs_of(text), inputs):
        key = _model_names.key_of(value)
        for root, path in tensors.get(key, ()) if key is not None else ():
            roots.setdefault(id(root), root)
            if root is next(iter(roots.values())):  # of two models in one graph, the first
                owners.setdefault(name, []).append(path)
    root = next(iter(roots.values()), None)

    def chain_of(path: str) -> Any:
        return _model_names.chain_of(root, path) if root is not None else ()

    for name, value in zip(_graph_guess.inputs_of(text), inputs):
        layer = _model_names.layer_named(value)
        if layer and len(chain_of(layer)) > 1 and chain_of(layer)[-1][0] == layer:
            owners[name] = [layer]
    return _graph_guess.table_of(text, owners, chain_of)


def _report_unknown(file: str, kernels: int) -> None:
    folder = os.path.dirname(os.path.dirname(file))
    _native.recorder().report_issue(
        f"the modules of {kernels} kernels of compiled code are not known, since it was compiled "
        f"without Sonde; to compile it again under sonde run: rm -r {folder}"
    )


def _nodes_of_calls() -> dict[str, list[str]]:
    """Of the graph that was compiled last: Inductor's own notes, which it does not pass on for
    graphs of backward that are compiled by themselves."""
    debug = sys.modules.get("torch._inductor.debug")
    notes = getattr(debug, "_inductor_triton_kernel_to_post_grad_node_info", None) or {}
    return {call: list(nodes) for call, nodes in notes.items()}


def file_of(function: Any) -> str:
    """The generated module that a compiled graph calls; "" where it is none."""
    function = getattr(function, "__func__", function)
    return str(getattr(function, "__globals__", {}).get("__file__") or "")


def compile_id() -> str:
    """Torch's number of what this thread compiles now, "frame/compilation"; "" for none."""
    import torch

    context = getattr(torch._guards, "CompileContext", None)
    current = context.current_compile_id() if context is not None else None
    return str(current) if current is not None else ""


def _best(file: str, table: dict[str, Any], is_new: bool) -> dict[str, Any]:
    """The table, or the one that a process kept which compiled this file: that one knows at least
    as much, and the types, bytes and operations, which a cached graph does not show."""
    path = os.path.join(_folder(), os.path.basename(file) + ".json")
    if not is_new:
        kept = _read(path)
        if kept and len(kept["sites"]) == len(table["sites"]):
            known = _graph_sites.share_with_module
            return kept if known(kept) >= known(table) else table
    if is_new:
        _write(path, table)
    return table


def _folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "sonde", "graphs")


def _read(path: str) -> Optional[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
        is_table = all(isinstance(table[key], kind) for key, kind in _FORM)
        return table if is_table else None
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


_FORM = (("modules", list), ("frames", list), ("sites", dict))


def _write(path: str, table: dict[str, Any]) -> None:
    partial = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(partial, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(table, file, separators=(",", ":"))
        os.replace(partial, path)
    except OSError:
        pass  # it is compiled again, or the next process knows less
