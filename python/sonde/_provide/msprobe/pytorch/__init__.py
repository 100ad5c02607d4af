"""The names that programs import from ``msprobe.pytorch``, answered by Sonde's precision probe."""

from typing import Any

from sonde.torch.precision import (
    PrecisionDebugger,
    acl_save,
    module_dump,
    module_dump_end,
    seed_all,
)

from msprobe import _installed

_installed.extend(__path__, "pytorch")

__all__ = ["PrecisionDebugger", "acl_save", "module_dump", "module_dump_end", "seed_all"]


def __getattr__(name: str) -> Any:
    # For captured graphs, which need an NPU: programs test it for None.
    if name == "AclGraphDumper" and _installed.folder() is None:
        return None
    return _installed.attribute("msprobe.pytorch", name)
