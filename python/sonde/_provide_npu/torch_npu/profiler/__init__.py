"""The profiler of programs for NPUs: Sonde's, by the same names and parameters."""

from sonde._inject import _npu

from torch_npu.profiler import dynamic_profile, profiler

globals().update(_npu.names())

__all__ = [*_npu.names(), "dynamic_profile", "profiler"]
