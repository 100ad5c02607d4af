"""One name of a host that a seam changes, and how: see ``Part``."""

import functools
import inspect
from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Callable, Optional

#: The one mark of our functions: the title of the seam that made them.
MARK = "_sonde_seam"

#: What the functions around a host's return.
Around = Generator[None, Any, None]
AsyncAround = AsyncGenerator[None, Any]


class Refusal(Exception):
    """Raised by a part to refuse what the user asked for: the ``problem`` reaches the host."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True)
class Part:
    """``path``: the name in its module, as ``Scheduler.schedule``.

    ``around``: a generator function with the parameters of the host's function: what stands before
    its ``yield`` runs before that function, the ``yield`` gives the result, the rest runs after it.
    Where the host's function raises, the generator is closed. A function that returns before it
    yields has nothing to do after the call; a plain function never has. For a coroutine function:
    an async generator function.

    ``replace``: instead, a function from the original to what takes its place, which keeps our
    errors from the host itself (``Seam.guarded``).

    ``optional``: not every release has it, and the seam does without.
    """

    path: str
    around: Optional[Callable[..., Any]] = None
    replace: Optional[Callable[[Any], Any]] = None
    optional: bool = False


@dataclass(frozen=True)
class Place:
    """A name that was found: where it is and what it is, without binding."""

    part: Part
    owner: Any
    name: str
    raw: Any
    is_own: bool  # not inherited

    def put(self, value: Any) -> None:
        """Changes the name."""
        setattr(self.owner, self.name, value)

    def restore(self) -> None:
        """What was there before, as it was."""
        if self.is_own:
            setattr(self.owner, self.name, self.raw)
        else:
            delattr(self.owner, self.name)

    @property
    def function(self) -> Any:
        """What is called."""
        is_wrapped = isinstance(self.raw, (staticmethod, classmethod))
        return self.raw.__func__ if is_wrapped else self.raw

    def is_changed_by(self, title: str) -> bool:
        """Whether this seam changed it before: a reload that did not define it again, a name that
        another module took over."""
        return is_changed(self.function, title)


def is_changed(function: Any, title: Optional[str] = None) -> bool:
    """Whether a function of a host is one of ours, of one seam or of any."""
    while function is not None:
        mark = getattr(function, MARK, None)
        if mark is not None and title in (None, mark):
            return True
        function = getattr(function, "__dict__", {}).get("__wrapped__")
    return False


def find(module: Any, part: Part) -> Optional[Place]:
    """The part's place in a module, None where there is no such name."""
    *owners, name = part.path.split(".")
    owner = module
    for step in owners:
        owner = getattr(owner, step, None)
    if owner is None:
        return None
    try:
        raw = inspect.getattr_static(owner, name)
    except AttributeError:
        return None
    return Place(part, owner, name, raw, name in vars(owner))


def fits(place: Place) -> bool:
    """Whether the host's function is called as the part expects: awaited or not."""
    if place.part.around is None:
        return True
    return inspect.iscoroutinefunction(place.function) == inspect.isasyncgenfunction(
        place.part.around
    )


def made(seam: Any, place: Place) -> Any:
    """What takes the place of the original."""
    part, function = place.part, place.function
    if part.replace is not None:
        new = part.replace(function)
    elif inspect.isasyncgenfunction(part.around):
        new = _awaited(seam, part.around, function)
    else:
        assert part.around is not None
        new = _called(seam, part.around, function)
    if new is function:
        return place.raw
    setattr(new, MARK, seam.title)
    return type(place.raw)(new) if isinstance(place.raw, (staticmethod, classmethod)) else new


_DONE = object()


def _called(seam: Any, around: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Kept short and in one piece: a server calls it several times a step, also when nothing is
    recorded."""
    if not inspect.isgeneratorfunction(around):
        around = _without_rest(around)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not seam.is_on:
            return function(*args, **kwargs)
        try:
            running = around(*args, **kwargs)
            has_rest = next(running, _DONE) is not _DONE
        except Refusal as refusal:
            raise refusal.problem from None
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            seam.switch_off(problem)
            has_rest = False
        if not has_rest:
            return function(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException:
            _close(seam, running)
            raise
        try:
            running.send(result)
        except StopIteration:
            pass
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            seam.switch_off(problem)
        return result

    return call


def _without_rest(function: Callable[..., Any]) -> Callable[..., Any]:
    def begin(*args: Any, **kwargs: Any) -> Iterator[Any]:
        function(*args, **kwargs)
        return iter(())

    return begin


def _close(seam: Any, running: Any) -> None:
    try:
        running.close()
    except Exception as problem:  # noqa: BLE001: the boundary to the host
        seam.switch_off(problem)


def _awaited(seam: Any, around: Callable[..., Any], function: Callable[..., Any]) -> Any:
    async def begin(args: Any, kwargs: Any) -> Any:
        try:
            running = around(*args, **kwargs)
            await running.__anext__()
            return running
        except StopAsyncIteration:
            pass
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            seam.switch_off(problem)
        return None

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        running = await begin(args, kwargs) if seam.is_on else None
        if running is None:
            return await function(*args, **kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException:
            await _aclose(seam, running)
            raise
        try:
            await running.asend(result)
        except StopAsyncIteration:
            pass
        except Exception as problem:  # noqa: BLE001: the boundary to the host
            seam.switch_off(problem)
        return result

    return call


async def _aclose(seam: Any, running: Any) -> None:
    try:
        await running.aclose()
    except Exception as problem:  # noqa: BLE001: the boundary to the host
        seam.switch_off(problem)
