"""Recording on request of a watched file: Sonde's."""

from sonde._inject import _npu
from sonde.torch.dynamic_profile import init, record_by, set_state, start, step

record_by(_npu.names()["profile"])

__all__ = ["init", "set_state", "start", "step"]
