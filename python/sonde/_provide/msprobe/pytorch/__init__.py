"""The names that programs import from ``msprobe.pytorch``, answered by Sonde's precision probe."""

from typing import Any

from sonde.torch import precision as _precision

from msprobe import _installed

_installed.extend(__path__, "pytorch")

PrecisionDebugger = _precision.PrecisionDebugger
acl_save = _precision.acl_save
module_dump = _precision.module_dump
module_dump_end = _precision.module_dump_end
seed_all = _precision.seed_all

_OURS = ("PrecisionDebugger", "acl_save", "module_dump", "module_dump_end", "seed_all")


def __getattr__(name: str) -> Any:
    if name == "__all__":  # of `from msprobe.pytorch import *`
        return [*_OURS, *_installed.names("msprobe.pytorch", _OURS)]
    # For captured graphs, which need an NPU: programs test it for None.
    if name == "AclGraphDumper" and _installed.folder() is None:
        return None
    return _installed.attribute("msprobe.pytorch", name)
