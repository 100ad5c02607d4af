"""The names that programs import from ``msprobe.mindspore``, answered by Sonde's probe."""

from typing import Any

from sonde.mindspore import precision as _precision

from msprobe import _installed

_installed.extend(__path__, "mindspore")

PrecisionDebugger = _precision.PrecisionDebugger
MsprobeStep = _precision.MsprobeStep
seed_all = _precision.seed_all

_OURS = ("MsprobeStep", "PrecisionDebugger", "seed_all")


def __getattr__(name: str) -> Any:
    if name == "__all__":  # of `from msprobe.mindspore import *`
        return [*_OURS, *_installed.names("msprobe.mindspore", _OURS)]
    return _installed.attribute("msprobe.mindspore", name)
