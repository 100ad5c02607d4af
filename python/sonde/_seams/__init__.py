"""The one mechanism by which anything of a host is changed; see ``_seam`` and ``_part``."""

from sonde._seams._importing import when_imported
from sonde._seams._part import Around, AsyncAround, Part, Refusal, is_changed
from sonde._seams._seam import APPLIED, FAILED, MISSING, WAITING, Seam, states
from sonde._seams._sources import missing

__all__ = [
    "APPLIED",
    "Around",
    "AsyncAround",
    "FAILED",
    "MISSING",
    "WAITING",
    "Part",
    "Refusal",
    "Seam",
    "is_changed",
    "missing",
    "states",
    "when_imported",
]
