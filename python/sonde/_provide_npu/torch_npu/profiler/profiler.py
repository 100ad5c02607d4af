"""Offline parsing and the profile classes, where upstream has them."""

from sonde._inject import _npu
from sonde.session._handler import analyse

globals().update(_npu.names())

__all__ = [*_npu.names(), "analyse"]
