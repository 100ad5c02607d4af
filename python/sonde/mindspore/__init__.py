"""Profiler API for MindSpore programs: that of ``mindspore.profiler``, recorded by Sonde.

::

    from sonde.mindspore import profile, schedule, tensorboard_trace_handler

    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler("./result"),
    ) as prof:
        for batch in loader:
            train(batch)
            prof.step()

The classes are MindSpore's own, with its parameters, defaults and warnings; from the first use on
they record by Sonde, also for code that imports ``mindspore.profiler``. MindSpore is imported when
one of these names is asked for, not before.
"""

from typing import Any

from sonde._step_mark import step

_PROFILER = (
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "ExportType",
    "HostSystem",
    "Profiler",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
)

_PRECISION = ("MsprobeStep", "PrecisionDebugger", "seed_all")


def __getattr__(name: str) -> Any:
    if name in _PRECISION:
        from sonde.mindspore import precision

        return getattr(precision, name)
    if name in _PROFILER or name == "analyse":
        return _of_profiler(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _of_profiler(name: str) -> Any:
    import importlib

    from sonde.mindspore import _interface, _marks

    package = importlib.import_module("mindspore.profiler")
    _interface.install()
    _marks.install()
    if name == "analyse":
        return _interface.analyse
    if not hasattr(package, name):
        import mindspore

        release = mindspore.__version__
        raise AttributeError(f"mindspore.profiler of MindSpore {release} has no {name}")
    return getattr(package, name)


__all__ = [
    "AicoreMetrics",
    "DynamicProfilerMonitor",
    "ExportType",
    "HostSystem",
    "MsprobeStep",
    "PrecisionDebugger",
    "Profiler",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "analyse",
    "mstx",
    "profile",
    "schedule",
    "seed_all",
    "step",
    "tensorboard_trace_handler",
]
