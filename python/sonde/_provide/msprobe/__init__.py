"""Stands in for the reference tool under ``sonde run --provide msprobe``."""

from typing import Any

from msprobe import _installed

_installed.install()
_installed.extend(__path__)


def _version() -> str:
    from importlib import metadata

    for name in ("mindstudio-probe", "sonde"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return "26.2.0"  # whose dumps ours equal


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    return _installed.attribute("msprobe", name)
