"""Stands in for Ascend's package under ``sonde run --provide torch_npu``, where there is no NPU.

Its profiler and its marks are Sonde's, and the device ``npu`` is the CPU, so that programs of that
package run to their end. What is neither (its own operators, ``contrib``) is not there.
"""

from typing import Any

import torch  # first: Sonde attaches to it
from sonde import _report

from torch_npu import _device, npu, profiler

__all__ = ["npu", "profiler"]

_reported: "set[str]" = set()

_device.install(torch, npu)
_report.log("torch_npu stands for Sonde's profiler here, and the device npu for the CPU")


def _autoload() -> None:
    """An installed torch_npu has torch call it at the end of its import; all is done by now."""


def _version() -> str:
    # Its releases are those of torch.
    return torch.__version__.split("+")[0]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = (
        f"torch_npu.{name} needs an NPU: --provide torch_npu gives profiler, marks and device name"
    )
    if name not in _reported:
        _reported.add(name)
        _report.log(text, error=True)  # an import statement replaces the exception's text
    raise AttributeError(text)
