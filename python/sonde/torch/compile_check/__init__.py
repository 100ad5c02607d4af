"""``compile_check``: which kernel that torch's compiler generated computes something else.

``_graphs`` keeps the graph of each generated module, ``_reference`` computes the values of a kernel
by eager operators from the kernel's own inputs, ``_watch`` does so at the first call of each line
that calls a kernel, ``_table`` writes what was found. No error accumulates from one kernel to the
next, no second run is needed, and the program goes on with what its kernels computed.
"""

from sonde.torch.compile_check._table import process_name
from sonde.torch.compile_check._watch import seams, watch

__all__ = ["process_name", "seams", "watch"]
