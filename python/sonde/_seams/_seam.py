"""Changes of a host (torch, vLLM, ...), each of which is a seam: names of one module that are
changed together or not at all.

Nothing of ours raises into the host. A seam whose names are not there changes nothing; one whose
own code fails reports it in one line and switches itself off, so that the host's functions are
called as if it were not there. The state of each goes to the launcher, and by ``states()`` to
captures.

Threads: any.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Callable, Optional

from sonde import _report
from sonde._seams import _importing, _part
from sonde._seams._part import Part

#: What may have become of a seam. MISSING: a name is not there; FAILED: our own code failed.
WAITING, APPLIED, MISSING, FAILED = "never imported", "applied", "missing", "failed"


class Seam:
    """One change of a host.

    ``title``: what it gives, as a reader of a report understands it ("engine steps"); unique.
    ``modules``: one, or the places that releases of the host have had for the same names.
    ``since``, ``until``: the releases that need it, as numbers; ``until`` is the first that does
    not.
    ``is_extra``: nobody misses it where it is not there. ``reads``: what else of the host it looks
    at, as ``module:Class.name``, for those who look up names.
    """

    def __init__(
        self,
        title: str,
        modules: "str | Sequence[str]",
        parts: "Sequence[Part]",
        since: tuple[int, ...] = (),
        until: tuple[int, ...] = (),
        is_extra: bool = False,
        reads: "Sequence[str]" = (),
    ) -> None:
        self.title = title
        self.modules = (modules,) if isinstance(modules, str) else tuple(modules)
        self.parts = tuple(parts)
        self.since = since
        self.until = until
        self.is_extra = is_extra
        self.reads = tuple(reads)
        self.is_on = True
        self.detail = ""
        self._states: dict[str, str] = {}
        self._places: list[_part.Place] = []
        self._is_noted = False  # in the run list

    def fits(self, version: tuple[int, ...]) -> bool:
        """Whether a release needs it."""
        return self.since <= version and (not self.until or version < self.until)

    @property
    def state(self) -> str:
        """Of the places that it may have, the best."""
        if not self.is_on:
            return FAILED
        found = set(self._states.values())
        return next((state for state in (APPLIED, FAILED, MISSING) if state in found), WAITING)

    def install(self) -> None:
        """Changes the modules as they are imported."""
        for name in self.modules:
            _importing.when_imported(name, self.apply)
        if self not in _installed:
            _installed.append(self)

    def apply(self, module: Any) -> None:
        """Changes one module: all names or none."""
        name = getattr(getattr(module, "__spec__", None), "name", None) or module.__name__
        places, missing = self._find(module)
        if missing:
            self._miss(name, missing)
            return
        done: list[_part.Place] = []
        try:
            for place in places:
                if place.is_changed_by(self.title):
                    continue
                place.put(_part.made(self, place))
                done.append(place)
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            for place in reversed(done):
                place.restore()
            self._states[name] = FAILED
            self._lose(f"{name} could not be changed: {_text(problem)}", problem)
            return
        self._places += done
        self._states[name] = APPLIED
        if not self._is_noted:
            self._is_noted = True
            _report.note("seam", self.title)

    def undo(self) -> None:
        """Puts everything back as it was, where nobody has changed it since."""
        for place in reversed(self._places):
            now = vars(place.owner).get(place.name)
            if getattr(getattr(now, "__func__", now), _part.MARK, None) == self.title:
                place.restore()
        self._places.clear()
        self._states.clear()

    def switch_off(self, problem: BaseException) -> None:
        """Our own code failed: one line, and it is not called again."""
        if self.is_on:
            self.is_on = False
            self._lose(_text(problem), problem)

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of ours for the host to call: it does not raise, and rests once it failed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return None
            try:
                return function(*args, **kwargs)
            except Exception as problem:  # noqa: BLE001: the boundary to the host
                self.switch_off(problem)
                return None

        return call

    def _find(self, module: Any) -> "tuple[list[_part.Place], list[str]]":
        places, missing = [], []
        for part in self.parts:
            place = _part.find(module, part)
            if place is not None and not _part.fits(place):
                missing.append(f"{part.path} (as it was)")
            elif place is not None:
                places.append(place)
            elif not part.optional:
                missing.append(part.path)
        return places, missing

    def _miss(self, module: str, names: "list[str]") -> None:
        self._states[module] = MISSING
        if self.is_extra or self.state == APPLIED:
            return
        others = [name for name in self.modules if name not in self._states]
        if not others:  # else it may be there
            self._lose(f"{module} has no {', '.join(names)}")

    def _lose(self, why: str, problem: Optional[BaseException] = None) -> None:
        self.detail = why
        _report.note("lost", f"{self.title}: {why}")
        _report.log(f"not recorded from here on: {self.title} ({why})", error=True)
        if problem is not None and os.environ.get("SONDE_DEBUG") == "1":
            traceback.print_exception(
                type(problem), problem, problem.__traceback__, file=sys.stderr
            )


_installed: "list[Seam]" = []  # of this process


def states() -> "dict[str, str]":
    """What became of each seam of this process so far, by title; with the reason where it is not
    applied and should be."""
    _importing.look_around()
    return {
        seam.title: f"{seam.state}: {seam.detail}" if seam.detail else seam.state
        for seam in _installed
    }


def _text(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
