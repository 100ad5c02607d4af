"""Records what flows through a PyTorch program: ``PrecisionDebugger`` and its companions.

::

    from sonde.torch import PrecisionDebugger

    debugger = PrecisionDebugger(config_path="config.json")
    for batch in loader:
        debugger.start(model=model)
        train(batch)
        debugger.stop()
        debugger.step()
"""

from sonde.torch.precision._acl_save import acl_save
from sonde.torch.precision._debugger import PrecisionDebugger, module_dump, module_dump_end
from sonde.torch.precision._seed import seed_all

__all__ = ["PrecisionDebugger", "acl_save", "module_dump", "module_dump_end", "seed_all"]
