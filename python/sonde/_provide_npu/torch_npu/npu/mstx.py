"""Marks and ranges: Sonde's. Also under the name ``mstx`` of this module, as upstream's class."""

import sys

from sonde.mstx import (
    annotate,
    mark,
    mstx_range,
    range_end,
    range_pop,
    range_push,
    range_start,
)

__all__ = [
    "annotate",
    "mark",
    "mstx",
    "mstx_range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
]

mstx = sys.modules[__name__]
