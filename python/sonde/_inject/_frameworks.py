"""The frameworks whose import begins a recording: one entry each."""

from dataclasses import dataclass
from typing import Any, Callable

from sonde.session import _recording


@dataclass(frozen=True)
class StepCallbacks:
    """The functions that a framework's step hooks call, each named after its moment."""

    begin: Callable[[], None]
    end: Callable[[], None]
    loads_data: Callable[[], None]
    pause: Callable[[], None]
    begin_beside: Callable[[], None]
    mark: str
    rest: Callable[[], None]


@dataclass(frozen=True)
class Framework:
    """``attach()`` makes it recordable; ``hooks`` makes an object with ``install()`` and
    ``renew()``, which finds its steps."""

    name: str
    attach: Callable[[], None]
    recording: "type[_recording.Recording]"
    settings: "type[_recording.Settings]"
    hooks: Callable[[StepCallbacks], Any]


def of_module(module: Any) -> Framework:
    """For what has just been imported, ``torch`` or ``mindspore``."""
    return _mindspore() if module.__name__ == "mindspore" else _torch(module)


def _torch(torch: Any) -> Framework:
    from sonde._inject._steps import StepHooks
    from sonde.torch import _adapter
    from sonde.torch._recording import Recording, Settings

    def hooks(to: StepCallbacks) -> Any:
        return StepHooks(
            torch,
            to.begin,
            to.end,
            to.loads_data,
            to.pause,
            to.begin_beside,
            to.mark,
            to.rest,
        )

    return Framework("torch", _adapter.attach, Recording, Settings, hooks)


def _mindspore() -> Framework:
    from sonde._inject._mindspore_steps import StepHooks
    from sonde.mindspore import _adapter
    from sonde.mindspore._recording import Recording, Settings

    def hooks(to: StepCallbacks) -> Any:
        return StepHooks(to.begin, to.end, to.rest, to.mark)

    return Framework("mindspore", _adapter.attach, Recording, Settings, hooks)
