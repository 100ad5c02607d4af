"""Switches of the device side (``experimental_config``), with their checks and warnings."""

import warnings
from typing import Any, Optional, Union

from sonde.session import _console, _host_system
from sonde.session._enums import AiCMetrics, ExportType, HostSystem, ProfilerLevel

_NO_METRICS_LEVELS = (ProfilerLevel.Level0, ProfilerLevel.Level_none)


class _ExperimentalConfig:
    """Depth of collection and form of the deliverables.

    Parameters as in ``torch_npu.profiler._ExperimentalConfig``. A wrong value gives a warning and
    the default. Switches for hardware that is not there are kept for the info file and reported
    when recording starts. ``gc_detect_threshold`` is in milliseconds (0: every collection).
    """

    def __init__(
        self,
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        aic_metrics: AiCMetrics = AiCMetrics.PipeUtilization,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        data_simplification: Optional[bool] = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: Optional[float] = None,
        export_type: Union[ExportType, list[ExportType], None] = None,
        host_sys: Optional[list[HostSystem]] = None,
        mstx: bool = False,
        mstx_domain_include: Optional[list[str]] = None,
        mstx_domain_exclude: Optional[list[str]] = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        if msprof_tx:
            warnings.warn(
                "The parameter msprof_tx will be deprecated. "
                "Please use the new parameter mstx instead.",
                stacklevel=2,
            )
        self.profiler_level = _level(profiler_level)
        self.aic_metrics = _metrics(aic_metrics, self.profiler_level)
        self.l2_cache = _switch("l2_cache", l2_cache)
        self.msprof_tx = _switch("msprof_tx", msprof_tx)
        self.mstx = _switch("mstx", mstx)
        self.data_simplification = _data_simplification(data_simplification)
        self.record_op_args = _switch("record_op_args", record_op_args)
        self.op_attr = _switch("op_attr", op_attr)
        self.gc_detect_threshold = _gc_threshold(gc_detect_threshold)
        self.export_type = _export_types(export_type)
        self.host_sys = _host_systems(host_sys)
        self.sys_io = _switch("sys_io", sys_io)
        self.sys_interconnection = _switch("sys_interconnection", sys_interconnection)
        self.mstx_domain_include: list[str] = []
        self.mstx_domain_exclude: list[str] = []
        self._check_op_attr()
        self._check_markers(mstx_domain_include, mstx_domain_exclude)

    @property
    def markers(self) -> bool:
        """Whether ranges and marks of the program are recorded."""
        return self.mstx or self.msprof_tx

    def without_effect(self) -> list[str]:
        """Names of switches that were given and that no hardware here can serve."""
        names = [
            name
            for name in ("l2_cache", "record_op_args", "op_attr", "sys_io", "sys_interconnection")
            if getattr(self, name)
        ]
        # The default is not a wish.
        if self.aic_metrics not in (AiCMetrics.PipeUtilization, AiCMetrics.AiCoreNone):
            names.insert(0, "aic_metrics")
        return names

    def sampled_systems(self) -> list[HostSystem]:
        """Those of ``host_sys`` that are sampled."""
        return [system for system in self.host_sys if system in _host_system.SUPPORTED]

    def not_sampled(self) -> list[str]:
        """Those of ``host_sys`` that are not."""
        return [system.value for system in self.host_sys if system not in _host_system.SUPPORTED]

    def config(self) -> dict[str, Any]:
        """The switches as ``profiler_info.json`` has them."""
        return {
            "_profiler_level": self.profiler_level.value,
            "_aic_metrics": self.aic_metrics.value,
            "_l2_cache": self.l2_cache,
            "_msprof_tx": self.msprof_tx,
            "_mstx": self.mstx,
            "_data_simplification": self.data_simplification,
            "record_op_args": self.record_op_args,
            "_export_type": [kind.value for kind in self.export_type],
            "_host_sys": [system.value for system in self.host_sys],
            "_op_attr": self.op_attr,
            "_gc_detect_threshold": self.gc_detect_threshold,
            "_mstx_domain_include": self.mstx_domain_include,
            "_mstx_domain_exclude": self.mstx_domain_exclude,
            "_sys_io": self.sys_io,
            "_sys_interconnection": self.sys_interconnection,
        }

    def _check_op_attr(self) -> None:
        if self.op_attr and ExportType.Db not in self.export_type:
            _console.warning("op_attr switch is invalid with export type set as text.")
            self.op_attr = False

    def _check_markers(self, include: Any, exclude: Any) -> None:
        if self.profiler_level is ProfilerLevel.Level_none and not self.markers:
            _console.warning(
                "Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none."
            )
            self.mstx = True
        if not self.markers:
            if include or exclude:
                _console.warning(
                    "mstx_domain_include and mstx_domain_exclude are valid "
                    "when msprof_tx or mstx is True."
                )
            return
        self.mstx_domain_include = _domains("mstx_domain_include", include)
        self.mstx_domain_exclude = _domains("mstx_domain_exclude", exclude)
        if self.mstx_domain_include and self.mstx_domain_exclude:
            _console.warning(
                "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, "
                "only mstx_domain_include will work."
            )
            self.mstx_domain_exclude = []


def _level(value: Any) -> ProfilerLevel:
    if isinstance(value, ProfilerLevel):
        return value
    _console.warning("Invalid parameter profiler_level, reset it to ProfilerLevel.Level0.")
    return ProfilerLevel.Level0


def _metrics(value: Any, level: ProfilerLevel) -> AiCMetrics:
    default = AiCMetrics.PipeUtilization
    if level in _NO_METRICS_LEVELS:
        default = AiCMetrics.AiCoreNone
        if value is not AiCMetrics.AiCoreNone:
            _console.warning(
                "Please use level1 or level2 if you want to collect aic metrics, "
                "reset aic metrics to None!"
            )
        return default
    if isinstance(value, AiCMetrics):
        return value
    _console.warning("Invalid parameter aic_metrics, reset it to default.")
    return default


def _switch(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    _console.warning(f"Invalid parameter {name}, which must be of bool type, reset it to False.")
    return False


def _data_simplification(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, bool):
        return value
    _console.warning(
        "Invalid parameter data_simplification, which must be of bool type, reset it to default."
    )
    return True


def _gc_threshold(value: Any) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _console.warning(
            "Parameter gc_detect_threshold is not int or float type, reset it to default."
        )
        return None
    if value < 0:
        _console.warning("Parameter gc_detect_threshold can not be negative, reset it to default.")
        return None
    if value == 0:
        _console.info("Parameter gc_detect_threshold is set to 0, it will collect all gc events.")
    return value


def _export_types(value: Any) -> list[ExportType]:
    if value is None:
        return [ExportType.Text]
    values = list(value) if isinstance(value, (list, tuple, set)) else [value]
    kinds: list[ExportType] = []
    for kind in values:
        if not isinstance(kind, ExportType):
            _console.warning(f"Invalid parameter export_type: {kind}, reset it to text.")
            return [ExportType.Text]
        if kind not in kinds:
            kinds.append(kind)
    if not kinds:
        _console.warning("Invalid parameter export_type, reset it to text.")
        return [ExportType.Text]
    return kinds


def _host_systems(value: Any) -> list[HostSystem]:
    if value is None:
        return []
    if not isinstance(value, list):
        _console.warning(
            "Invalid parameter host_sys, which must be of list type, reset it to empty."
        )
        return []
    if not all(isinstance(system, HostSystem) for system in value):
        _console.warning("Invalid parameter host_sys, reset it to empty.")
        return []
    return list(dict.fromkeys(value))


def _domains(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        # The peer's text has this underscore; scripts that watch for it keep working.
        shown = "_" + name if name == "mstx_domain_exclude" else name
        _console.warning(
            f"Invalid parameter {shown}, which must be of list type, reset it to default."
        )
        return []
    if not all(isinstance(domain, str) for domain in value):
        _console.warning(
            f"Invalid parameter {name}, which contents must be of str type, reset it to default."
        )
        return []
    return list(dict.fromkeys(value))
