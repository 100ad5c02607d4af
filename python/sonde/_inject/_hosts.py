"""The programs and libraries whose names Sonde changes: one entry each.

``servers()`` are those that report their steps themselves and start sessions (see ``Run``); the
rest is what `sonde doctor` and the tests look up in the sources of a release.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

from sonde._seams import Seam
from sonde.mindspore import _host as _mindspore
from sonde.torch import _host as _torch
from sonde.vllm import _dump, _server


@dataclass(frozen=True)
class Host:
    """``package``: what is imported; ``distributions``: its names where it is installed; ``seams``:
    everything that may be changed, for looking only; ``server``: the module that knows the server
    that it is, None for a library."""

    package: str
    distributions: tuple[str, ...]
    seams: Callable[[], Sequence[Seam]]
    server: Optional[Any] = None


HOSTS = (
    Host("torch", ("torch",), _torch.seams),
    Host("mindspore", ("mindspore",), _mindspore.seams),
    Host(
        "vllm",
        _server.DISTRIBUTIONS,
        lambda: (*_server.seams(lambda number: None, lambda: None), *_dump.seams()),
        _server,
    ),
)


def servers() -> list[Any]:
    """The servers that are known."""
    return [host.server for host in HOSTS if host.server is not None]
