"""Starts and stops captures with one set of settings, whatever framework fills them.

Threads: calls for one object come from one thread at a time. Errors: ``NativeError``.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from sonde import _native
from sonde.session import _host_system, _metadata
from sonde.session._enums import HostSystem


@dataclass
class Settings:
    """What to record and where to put it."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_modules: bool = False
    markers: bool = False
    own_domains: list[str] = field(default_factory=list)  # kept with and without markers
    operators: bool = True
    flops: bool = False  # ranges with the FLOPs of matrix products; needs markers
    host_systems: list[HostSystem] = field(default_factory=list)  # to sample
    gc_threshold_ms: Optional[float] = None
    keep_last_seconds: int = 0  # of the recording; 0: all
    domain_include: list[str] = field(default_factory=list)
    domain_exclude: list[str] = field(default_factory=list)
    directory: Optional[str] = None
    worker_name: Optional[str] = None
    span_suffix: Optional[str] = None  # of the folder's name; None: the recorder's
    # Object "config" of profiler_info.json.
    config: dict[str, Any] = field(default_factory=dict)

    #: Domain of the ranges that a framework adds by itself for ``flops``.
    flops_domain: str = ""

    def features(self) -> int:
        """Bits for the recorder."""
        bits = _native.FEATURE_RECORDING
        for wanted, bit in (
            (self.operators, _native.FEATURE_OPS),
            (self.record_shapes, _native.FEATURE_SHAPES),
            (self.profile_memory, _native.FEATURE_MEMORY),
            (self.with_stack, _native.FEATURE_STACKS),
            (self.with_modules, _native.FEATURE_MODULES),
            (self.markers or self.host_systems or self.own_domains, _native.FEATURE_MARKERS),
        ):
            if wanted:
                bits |= bit
        return bits

    def session(self) -> _native.SessionConfig:
        """The settings as the recorder takes them."""
        options: dict[str, Any] = {}
        if self.gc_threshold_ms is not None:
            options["gc_threshold_ms"] = self.gc_threshold_ms
        return _native.SessionConfig(
            features=self.features(),
            directory=self.directory,
            worker_name=self.worker_name,
            domain_include=self._domains(),
            domain_exclude=self.domain_exclude,
            options=options,
            keep_last_seconds=self.keep_last_seconds,
            span_suffix=self.span_suffix,
        )

    def _domains(self) -> list[str]:
        """Domains to keep, none for all: those of the program, and ours for what was asked for."""
        ours = [*self.own_domains, *([_host_system.DOMAIN] if self.host_systems else [])]
        if not self.markers:
            return ours
        if not self.domain_include:
            return []
        flops = [self.flops_domain] if self.flops and self.flops_domain else []
        return [*self.domain_include, *ours, *flops]


class Recording:
    """One capture after another with the same settings.

    ``facts`` gives further metadata (key to JSON value) at each start and stop.
    """

    def __init__(self, settings: Settings, facts: Callable[[], dict[str, Any]]) -> None:
        self.settings = settings
        self._facts = facts
        self.path = ""
        self.active = False
        self._sampler: Optional[_host_system.Sampler] = None

    def attach(self) -> None:
        """Makes the framework recordable; a framework's own class does it."""

    def prepare(self) -> None:
        """Warm-up: attaches the adapter, opens files and buffers."""
        self.attach()
        self.write_facts()
        _native.recorder().prepare(self.settings.session())

    def start(self) -> str:
        """Starts recording; returns the span folder."""
        self.attach()
        self.write_facts()
        self.path = _native.recorder().start(self.settings.session())
        self.active = True
        self._begin_helpers()
        return self.path

    def stop(self) -> str:
        """Stops recording; returns the span folder, which is complete."""
        self._end_helpers()
        self.write_facts()
        self.path = _native.recorder().stop()
        return self.path

    def discard(self) -> None:
        """Stops and removes what was prepared or recorded."""
        self._end_helpers()
        _native.recorder().discard()
        self.path = ""

    def _begin_helpers(self) -> None:
        if self.settings.host_systems:
            self._sampler = _host_system.Sampler(self.settings.host_systems)
            self._sampler.start()

    def _end_helpers(self) -> None:
        self.active = False
        if self._sampler is not None:
            self._sampler.stop()
            self._sampler = None

    def write_facts(self) -> None:
        """Hands the metadata of the capture to the recorder."""
        recorder = _native.recorder()
        _metadata.write_process_facts()
        recorder.metadata("profiler_config", _native.json_text(self.settings.config))
        for key, value in self._facts().items():
            recorder.metadata(key, _native.json_text(value))
