"""Records what flows through a MindSpore program that is not compiled: ``PrecisionDebugger``.

::

    from sonde.mindspore import PrecisionDebugger

    debugger = PrecisionDebugger(config_path="config.json")
    for batch in loader:
        debugger.start(model=net)
        train(batch)
        debugger.stop()
        debugger.step()

Configuration, files and names are those of the probe for PyTorch (docs/probe.md), with ``Cell.``
for ``Module.``; what runs as a graph is dumped by MindSpore itself (docs/mindspore.md).
"""

from sonde.mindspore.precision._debugger import MsprobeStep, PrecisionDebugger
from sonde.mindspore.precision._seed import seed_all

__all__ = ["MsprobeStep", "PrecisionDebugger", "seed_all"]
