"""What Sonde changes in torch while a program is recorded, dumped or checked."""

import types

from sonde._seams import Seam
from sonde.session import _metadata
from sonde.torch import _compiled, _kernels


def seams() -> "tuple[Seam, ...]":
    """Everything, for looking at only."""
    from sonde._inject import _stand_in, _steps
    from sonde.torch import _compilation, _graphs, compile_check
    from sonde.torch.precision import _graph_complete

    steps = _steps.StepHooks(types.SimpleNamespace(), lambda: None, lambda: None)
    return (
        *steps.seams(),
        *_metadata.seams(),
        *_kernels.seams(),
        *_compiled.seams(),
        *_stand_in.seams(),
        *_compilation.seams(),
        *_graphs.seams(),
        *_graph_complete.seams(),
        *compile_check.seams(),
    )
