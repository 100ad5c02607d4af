"""Offline parsing, under the module name that torch_npu programs know."""

from sonde.session._handler import analyse
from sonde.torch._profiler import _KinetoProfile, profile

__all__ = ["_KinetoProfile", "analyse", "profile"]
