"""What Sonde changes in MindSpore while a program is recorded."""

from sonde._seams import Seam
from sonde.mindspore import _cells, _interface, _marks


def seams() -> "tuple[Seam, ...]":
    """Everything, for looking at only."""
    from sonde._inject import _mindspore_steps

    steps = _mindspore_steps.StepHooks(lambda: None, lambda: None)
    return (*_cells.seams(), *_marks.seams(), *_interface.seams(), *steps.seams())
