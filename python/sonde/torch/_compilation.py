"""What compiling cost, and why it happened: one fact for each time that torch compiled something.

Follows the events by which torch measures its own compiler, whether something is recorded or not,
and puts each compilation into the metadata of captures as ``compilation:<number>``, an object:

``compile_id``  torch's number of the frame and of its compilation, "2/1"; "" where it has none
``function``, ``file``, ``line``  what was compiled
``begin_ns``, ``dur_ns``  wall clock
``tracing_ns``, ``aot_ns``, ``inductor_ns``, ``native_ns``, ``guards_ns``  of the phases: Dynamo,
                AOTAutograd without what follows, Inductor without what follows, compilers of C++
                and Triton, guards
``cache``       results of torch's caches, as "fx_graph_cache miss", and "... bypass (reason)"
``reason``      the guard that failed, of a recompilation
``breaks``      graph breaks: "reason (file:line)"
``guards``, ``operators``  how many
``backward``    whether it is the backward part, compiled by itself
``error``       why it failed

Threads: any.
"""

import itertools
import re
import threading
import time
from typing import Any, Optional

from sonde import _native
from sonde._seams import Part, Seam

#: Keys of the metadata begin with this.
METADATA = "compilation:"

_SINCE = (2, 10)  # of torch, with which it was tried
_TRACING, _AOT, _INDUCTOR, _NATIVE, _GUARDS = "tracing", "aot", "inductor", "native", "guards"
# Torch's events of each phase; of those that nest the outer one counts.
_PHASES = {
    "bytecode_tracing": _TRACING,
    "create_aot_dispatcher_function": _AOT,
    "inductor_compile": _INDUCTOR,
    "fx_codegen_and_compile": _INDUCTOR,
    "compile_file": _NATIVE,
    "async_compile.wait": _NATIVE,
    "build_guards": _GUARDS,
}
_CACHES = ("fx_graph_cache_", "autograd_cache_", "aot_autograd_cache_", "triton_")
_OF_A_CACHE = ("hit", "miss", "bypass", "disabled")
_MOST_KEPT = 10_000  # compilations of a process; programs that compile without end compile the same
_MOST_TEXT = 500
_watched: "list[_Compilations]" = []


def watch() -> None:
    """From now on. Once a process."""
    if _watched:
        return
    compilations = _Compilations()
    _watched.append(compilations)
    for seam in seams(compilations):
        seam.install()


def seams(compilations: "Optional[_Compilations]" = None) -> tuple[Seam, ...]:
    """Events of torch's compiler."""
    made = compilations or _Compilations()
    events = (
        Part("ChromiumEventLogger.log_event_start", made.begun),
        Part("ChromiumEventLogger.log_event_end", made.ended),
        Part("ChromiumEventLogger.log_instant_event", made.happened, optional=True),
    )
    breaks = (
        Part("InstructionTranslatorBase.log_graph_break", made.broke, optional=True),
        Part("log_graph_break", made.broke_in, optional=True),  # torch before 2.10
    )
    return (
        Seam("phases of compilation", "torch._dynamo.utils", events, _SINCE, is_extra=True),
        Seam(
            "compilations",
            "torch._dynamo.metrics_context",
            (Part("MetricsContext.__exit__", made.measured),),
            since=_SINCE,
            is_extra=True,
        ),
        Seam("graph breaks", "torch._dynamo.symbolic_convert", breaks, is_extra=True),
    )


class _Open:
    """What is being compiled on a thread."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.outermost = ""
        self.begin_ns = time.time_ns()
        self.phases: dict[str, int] = {}
        self.caches: dict[str, None] = {}
        self.breaks: dict[str, None] = {}
        self.compile_id = ""


class _Compilations:
    def __init__(self) -> None:
        self._thread = threading.local()
        self._numbers = itertools.count()

    def _open(self) -> _Open:
        found = getattr(self._thread, "open", None)
        if found is None:
            found = self._thread.open = _Open()
        return found

    # Events

    def begun(self, _: Any, event_name: str, time_ns: int, *__: Any, **___: Any) -> None:
        """A phase begins."""
        compiled = self._open()
        if not compiled.events and not compiled.phases:
            compiled.begin_ns, compiled.outermost = time_ns, event_name
        compiled.events.append(event_name)
        compiled.compile_id = compiled.compile_id or _compile_id()

    def ended(  # noqa: PLR0913: torch's own parameters
        self,
        _: Any,
        event_name: str,
        time_ns: int,
        metadata: Any,
        start_time_ns: int,
        *__: Any,
        **___: Any,
    ) -> None:
        """A phase ends; compilations that torch does not measure end with the outermost."""
        compiled = self._open()
        if event_name not in compiled.events:
            return
        while compiled.events.pop() != event_name:
            pass
        phase = _PHASES.get(event_name)
        if phase and not any(_PHASES.get(outer) == phase for outer in compiled.events):
            took_ns = time_ns - start_time_ns
            compiled.phases[phase] = compiled.phases.get(phase, 0) + took_ns
        if not compiled.events and not _is_measured():
            self._finish({}, time_ns)

    def happened(
        self, _: Any, event_name: str, __: int = 0, metadata: Any = None, *___: Any, **____: Any
    ) -> None:
        """An instant: what a cache had, and why it was not asked."""
        result = event_name.rsplit("_", 1)
        if event_name.startswith(_CACHES) and result[-1] in _OF_A_CACHE:
            why = _line(str((metadata or {}).get("cache_bypass_reason") or ""))
            self._open().caches[" ".join(result) + (f" ({why})" if why else "")] = None

    def broke(self, _: Any, __: Any, reason: str, exc: Any = None, **rest: Any) -> None:
        """A graph break; torch reports each twice, since it traces again."""
        self._add_break(reason, getattr(exc, "real_stack", None) or rest.get("user_stack"))

    def broke_in(self, _: Any, reason: str = "", **rest: Any) -> None:
        """The same of an older torch."""
        self._add_break(reason, rest.get("user_stack"))

    def _add_break(self, reason: str, stack: Any) -> None:
        text = _cause(str(reason))
        if stack:
            text += f" ({stack[-1].filename}:{stack[-1].lineno})"
        self._open().breaks[text] = None

    def measured(self, context: Any, exc_type: Any, exc_value: Any, *_: Any) -> None:
        """Torch's own numbers about a compilation are complete."""
        if getattr(context, "_level", 0) != 1:
            return
        metrics = dict(getattr(context, "_metrics", {}))
        if exc_type is not None:
            metrics["error"] = f"{exc_type.__qualname__}: {exc_value}"
        self._finish(metrics, time.time_ns())

    def _finish(self, metrics: dict[str, Any], end_ns: int) -> None:
        compiled = self._open()
        self._thread.open = None
        number = next(self._numbers)
        if not (compiled.phases or metrics.get("co_name")) or number >= _MOST_KEPT:
            return
        if _PHASES.get(compiled.outermost) == _NATIVE and not metrics:
            return  # a thread that compiles for another, whose phases have the time
        fact = _fact(compiled, metrics, end_ns)
        _native.recorder().metadata(f"{METADATA}{number:05}", _native.json_text(fact))


def _fact(compiled: _Open, metrics: dict[str, Any], end_ns: int) -> dict[str, Any]:
    phases = compiled.phases
    inner = phases.get(_NATIVE, 0)
    outer = phases.get(_INDUCTOR, 0)
    # Compilers run inside of Inductor's phase, and that inside of AOTAutograd's.
    return {
        "compile_id": str(metrics.get("compile_id") or compiled.compile_id or ""),
        "function": str(metrics.get("co_name") or ""),
        "file": str(metrics.get("co_filename") or ""),
        "line": int(metrics.get("co_firstlineno") or 0),
        "begin_ns": compiled.begin_ns,
        "dur_ns": max(end_ns - compiled.begin_ns, 0),
        "tracing_ns": phases.get(_TRACING, 0),
        "aot_ns": max(phases.get(_AOT, 0) - outer, 0),
        "inductor_ns": max(outer - inner, 0),
        "native_ns": inner,
        "guards_ns": phases.get(_GUARDS, 0),
        "cache": ", ".join(compiled.caches),
        "reason": _line(str(metrics.get("recompile_reason") or "")),
        "breaks": list(compiled.breaks),
        "guards": int(metrics.get("guard_count") or 0),
        "operators": int(metrics.get("graph_op_count") or 0),
        "backward": metrics.get("is_forward") is False,
        "error": _line(str(metrics.get("error") or metrics.get("fail_reason") or "")),
    }


def _line(text: str) -> str:
    """The first line, without the spaces that align its remarks."""
    return " ".join(text.strip().split("\n", 1)[0].split())[:_MOST_TEXT]


def _cause(reason: str) -> str:
    """Torch explains a graph break in many lines: that which says why, else the first."""
    found = re.search(r"^\s*Explanation: (.+)$", reason, re.MULTILINE)
    return _line(found[1] if found else reason)


def _compile_id() -> str:
    from sonde.torch._graphs import compile_id

    return compile_id()


def _is_measured() -> bool:
    """Whether torch measures a compilation on this thread now: its end is that of the numbers."""
    from torch._dynamo import utils

    context = getattr(utils, "get_metrics_context", None)
    return context is not None and context().in_progress()
