"""Records of values: the fields of ``dump.json`` for a tensor, a number, a structure.

Tensors are read as numpy arrays, without a kernel of MindSpore's: nothing of the probe runs on the
device, and a statistic does not fail for want of a kernel. Statistics are those of the reference:
floating point numbers in their own type, everything else in float32 (docs/mindspore.md).
"""

import math
import zlib
from typing import Any, Callable, Optional

import numpy

#: Gets the array of a tensor that is to be saved, and the end of its file's name.
Save = Callable[[Any, str], Optional[str]]

_MAX_DEPTH = 400


class Describer:
    """Of one configuration. ``summary``: statistics, md5, xor or none."""

    def __init__(self, mindspore: Any, summary: str, is_high: bool) -> None:
        self._tensor: type = mindspore.Tensor
        self._dtype: type = mindspore.dtype.Type
        self._summary = summary
        self._is_high = is_high

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is one of MindSpore's tensors."""
        return isinstance(value, self._tensor)

    def record(self, value: Any, place: str, save: Optional[Save], depth: int = 0) -> Any:
        """What stands for a value; ``place`` names its file (``input.0``)."""
        if isinstance(value, self._tensor):
            return self._of_tensor(value, place, save)
        if isinstance(value, (bool, int, float, str)):
            return {"type": type(value).__name__, "value": value}
        if value is None or depth > _MAX_DEPTH:
            return None
        if isinstance(value, (list, tuple)):
            return [
                self.record(item, f"{place}.{i}", save, depth + 1) for i, item in enumerate(value)
            ]
        if isinstance(value, dict):
            return {
                str(key): self.record(item, f"{place}.{key}", save, depth + 1)
                for key, item in value.items()
            }
        return self._of_other(value)

    def _of_other(self, value: Any) -> Any:
        if isinstance(value, self._dtype):
            return {"type": "mindspore.dtype", "value": str(value)}
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return {"type": "slice", "value": [_whole(part) for part in parts]}
        if value is Ellipsis:
            return {"type": "ellipsis", "value": "..."}
        if isinstance(value, numpy.generic):
            return {"type": type(value).__name__, "value": value.item()}
        if isinstance(value, numpy.ndarray):
            record = {"type": "numpy.ndarray", "dtype": str(value.dtype)}
            record["shape"] = list(value.shape)  # type: ignore[assignment]
            return {**record, **statistics(value, self._is_high)}
        return None

    def _of_tensor(self, tensor: Any, place: str, save: Optional[Save]) -> "dict[str, Any]":
        record: dict[str, Any] = {
            "type": "mindspore.Tensor",
            "dtype": str(tensor.dtype),
            "shape": list(tensor.shape),
        }
        array = array_of(tensor)
        if self._summary != "xor":
            record.update(statistics(array, self._is_high))
        if save is not None:
            name = save(array, place)
            if name is not None:
                record["data_name"] = name
        if self._summary == "md5":
            record["md5"] = checksum(array)
        elif self._summary == "xor":
            record["md5"] = None
        return record


def array_of(tensor: Any) -> Any:
    """The elements; bfloat16 and narrower become float32, as the reference saves them."""
    array = tensor.asnumpy()
    is_plain = array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1
    return array if is_plain else array.astype(numpy.float32)


def statistics(array: Any, is_high: bool = False) -> "dict[str, Any]":
    """``Max``, ``Min``, ``Mean``, ``Norm`` as Python numbers, None where there is none."""
    none = dict.fromkeys(("Max", "Min", "Mean", "Norm"))
    if array.size == 0 or array.dtype.kind in "US":
        return none
    if array.dtype.kind == "b":
        return {**none, "Max": bool(array.any()), "Min": bool(array.all())}
    if array.ndim == 0:
        return dict.fromkeys(none, array.item())
    if array.dtype.kind == "c":
        array = numpy.abs(array)
    kept = array.dtype if array.dtype.itemsize == 2 and not is_high else numpy.dtype(numpy.float32)
    kept = kept if kept.kind == "f" else numpy.dtype(numpy.float32)
    values = array.reshape(-1).astype(numpy.float32, copy=False)
    with numpy.errstate(all="ignore"):
        squares = float(numpy.add.reduce(numpy.square(values), dtype=numpy.float64))
        mean = float(numpy.add.reduce(values, dtype=numpy.float64)) / values.size
        found = (values.max(), values.min(), mean, math.sqrt(squares))
        return {name: float(kept.type(value)) for name, value in zip(none, found)}


def checksum(array: Any) -> str:
    """CRC-32 of the elements in row-major order, eight digits."""
    return f"{zlib.crc32(numpy.ascontiguousarray(array).tobytes()):08x}"


def _whole(value: Any) -> Optional[int]:
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        return None
