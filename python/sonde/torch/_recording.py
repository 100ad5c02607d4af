"""Captures of PyTorch programs: see ``sonde.session._recording``."""

from dataclasses import dataclass

from sonde.session import _recording
from sonde.torch import _adapter, _flops


@dataclass
class Settings(_recording.Settings):
    """What to record and where to put it."""

    flops_domain: str = _flops.DOMAIN


class Recording(_recording.Recording):
    """One capture after another with the same settings."""

    def attach(self) -> None:
        """Makes torch recordable."""
        _adapter.attach()

    def _begin_helpers(self) -> None:
        if self.settings.flops and self.settings.markers:
            _flops.install()
        super()._begin_helpers()

    def _end_helpers(self) -> None:
        if self.settings.flops:
            _flops.remove()
        super()._end_helpers()
