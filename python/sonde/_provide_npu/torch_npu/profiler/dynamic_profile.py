"""Recording on request of a watched file: Sonde's."""

from sonde.torch.dynamic_profile import init, set_state, start, step

__all__ = ["init", "set_state", "start", "step"]
