"""The names that programs import from ``msprobe.pytorch``, answered by Sonde's precision probe."""

from sonde.torch.precision import (
    PrecisionDebugger,
    acl_save,
    module_dump,
    module_dump_end,
    seed_all,
)

# Parts for captured graphs, which need an NPU: programs test them for None.
AclGraphDumper = None

__all__ = [
    "AclGraphDumper",
    "PrecisionDebugger",
    "acl_save",
    "module_dump",
    "module_dump_end",
    "seed_all",
]
