"""Arguments of a call from their records: saved tensors are loaded, others made of statistics.

Made tensors have the record's smallest value first and its largest last, and between them what the
generator of torch gives; with the same seed and order they are those that msProbe makes.
"""

import math
import os
from typing import Any, Optional

TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")
# msProbe rounds these functions' inputs to the type that its device computes them in.
SHORT_FLOATS = ("conv1d", "conv2d")
# Functions whose whole numbers must be of another type on the CPU.
_CONVERTED = {
    "cross_entropy": ("torch.int32", "torch.int64"),
    "histc": ("torch.int64", "torch.float32"),
}
_WHOLE_OF_TORCH = ("int", "long")


class Maker:
    """Makes arguments on the CPU, in the types of the dump."""

    def __init__(self, torch: Any, folder: Optional[str]) -> None:
        self.torch = torch
        self.folder = folder

    def arguments(
        self, function: str, record: "dict[str, Any]", tracks: bool
    ) -> "tuple[list, dict]":
        """Positional and named arguments; the named ones are made first."""
        record = _adjusted(function, record)
        named = {
            key: self._named(function, key, value)
            for key, value in record.get("input_kwargs", {}).items()
        }
        given = record.get("input_args") or []
        return [self.value(function, item, tracks) for item in given], named

    def _named(self, function: str, key: str, info: Any) -> Any:
        if isinstance(info, (list, tuple)):
            return [self.value(function, item, False) for item in info]
        return self.value(function, info, True)

    def value(self, function: str, info: Any, tracks: bool = True) -> Any:
        """One argument; ``tracks``: what required gradients in the dump does here, too."""
        if isinstance(info, (list, tuple)):
            parts = [self.value(function, item, tracks) for item in info]
            # An index of several parts was a tuple; as a list it would be one of numbers.
            return tuple(parts) if function in ("__getitem__", "__setitem__") else parts
        if info is None:
            return None
        if not isinstance(info, dict):
            raise ValueError(f"{info!r} is no record of a value")
        kind = info.get("type") or ""
        if kind in TENSORS:
            return self._tensor(function, info, tracks)
        value = info.get("value")
        if kind == "slice":
            return slice(*(value or ()))
        if kind == "ellipsis":
            return ...
        if kind == "torch.Size":
            return self.torch.Size(value)
        if kind == "torch.dtype":
            return self.dtype(value)
        if kind == "torch.device":
            return self.torch.device("cpu")
        if kind.startswith("numpy."):
            return self._numpy(kind, value)
        return value

    def dtype(self, name: Any) -> Any:
        """``torch.float16`` of its name."""
        found = getattr(self.torch, str(name).rpartition(".")[2], None)
        if not isinstance(found, self.torch.dtype):
            raise ValueError(f"{name} is no type of torch")
        return found

    @staticmethod
    def _numpy(kind: str, value: Any) -> Any:
        import numpy

        made = getattr(numpy, kind.partition(".")[2], None)
        if made is None or not isinstance(made, type) or not issubclass(made, numpy.generic):
            raise ValueError(f"{kind} is not supported now")
        return made(value)

    def _tensor(self, function: str, info: "dict[str, Any]", tracks: bool) -> Any:
        name = info.get("data_name") or info.get("datapath")
        converted = _CONVERTED.get(function)
        if "float8" in str(info.get("dtype")):
            raise ValueError("float8 is not checked: no other type computes the same")
        data = self._saved(name, info) if name else self._made(info, converted)
        if name and converted and str(data.dtype) == converted[0]:
            data = data.type(self.dtype(converted[1]))
        if function in SHORT_FLOATS and data.dtype == self.torch.float32:
            data = self._shortened(data)
        if info.get("requires_grad") and tracks:
            data.requires_grad_(True)
        return data

    def _saved(self, name: Any, info: "dict[str, Any]") -> Any:
        if self.folder is None:
            raise ValueError(f"{name} is named, but the dump names no folder with tensors")
        path = os.path.join(self.folder, os.path.basename(str(name)))
        is_torch = path.endswith(".pt")
        if not is_torch and not path.endswith(".npy"):
            raise ValueError(f"{path} is neither .pt nor .npy")
        try:
            data = self._loaded(path, is_torch)
        except OSError as problem:
            raise ValueError(f"cannot read {path}: {problem.strerror or problem}") from problem
        except Exception as problem:  # libraries raise what they like for a damaged file
            raise ValueError(f"{path} is not a tensor file, or is damaged") from problem
        described = (str(info.get("dtype")), list(_shape_of(info)))
        has = (str(data.dtype), list(data.shape))
        # Numpy lacks some of torch's types, whose tensors are written in another.
        if described[1] != has[1] or (is_torch and described[0] != has[0]):
            raise ValueError(
                f"{path} holds {has[0]} {has[1]}, the dump states {described[0]} {described[1]}"
            )
        return data

    def _loaded(self, path: str, is_torch: bool) -> Any:
        if is_torch:
            return self.torch.load(path, map_location="cpu", weights_only=True).detach()
        import numpy

        return self.torch.from_numpy(numpy.load(path, allow_pickle=False))

    def _shortened(self, data: Any) -> Any:
        bits = data.detach().contiguous().view(self.torch.int32)
        return (((bits >> 11) + 1) >> 1 << 12).view(self.torch.float32)

    def _made(self, info: "dict[str, Any]", converted: "Optional[tuple[str, str]]") -> Any:
        torch = self.torch
        shape = _shape_of(info)
        low, low_given = info.get("Min_except_inf_nan", info.get("Min")), info.get("Min")
        high, high_given = info.get("Max_except_inf_nan", info.get("Max")), info.get("Max")
        if 0 in shape:
            low = low_given = high = high_given = 0
        low, low_given = _number(low), _number(low_given)
        high, high_given = _number(high), _number(high_given)
        if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            raise ValueError(
                f"Data info Min: {low} , Max: {high}, info type must be int or float: "
                "the dump has neither tensors nor statistics (summary mode md5?)"
            )
        name = str(info.get("dtype"))
        if name == "torch.bool":
            ends = sorted((int(low), int(high)))
            return torch.gt(torch.randint(ends[0], ends[1] + 1, shape), 0)
        if converted and name == converted[0]:
            name = converted[1]
        dtype = self.dtype(name)
        if dtype.is_floating_point:
            return self._made_floats((low, low_given), (high, high_given), shape, dtype)
        if not any(word in name for word in _WHOLE_OF_TORCH):
            raise ValueError(f"tensors of {name} cannot be made")
        data = torch.randint(int(low), int(high) + 1, shape, dtype=dtype)
        return self._with_ends(data, (low, low_given), (high, high_given))

    def _made_floats(self, low: tuple, high: tuple, shape: tuple, dtype: Any) -> Any:
        torch = self.torch
        if math.isnan(high[0]):
            return torch.full(shape, math.nan, dtype=dtype)
        if high[1] and math.isinf(high[0]):
            data = torch.full(shape, high[0], dtype=dtype)
            data[-1] = low[0]
            return data
        limits = torch.finfo(dtype)
        least = _limited(low[0], limits)
        scale = _limited(high[0], limits) - least
        data = torch.rand(shape, dtype=dtype) * scale + least
        return self._with_ends(data, low, high)

    @staticmethod
    def _with_ends(data: Any, low: tuple, high: tuple) -> Any:
        if data.nelement() == 0:
            return data
        flat = data.reshape(-1)
        if high[1] and isinstance(high[1], float) and math.isnan(high[1]):
            if flat.numel() > 2:
                flat[0], flat[1] = low[0], math.nan
            else:
                flat[0] = math.nan
            flat[-1] = high[0]
        else:
            flat[0], flat[-1] = low[0], high[0]
            if _is_infinite(high[1]):
                flat[-1] = high[1]
            if _is_infinite(low[1]):
                flat[0] = low[1]
        return flat.reshape(data.shape)


def _adjusted(function: str, record: "dict[str, Any]") -> "dict[str, Any]":
    """Labels of classes are not negative; a histogram is one of floats."""
    given = record.get("input_args") or []
    if function == "cross_entropy" and len(given) > 1 and isinstance(given[1], dict):
        least = given[1].get("Min")
        if isinstance(least, (int, float)) and least <= 0:
            return {**record, "input_args": [given[0], {**given[1], "Min": 0}, *given[2:]]}
    if function == "histc" and given and "int" in str(given[0].get("dtype")):
        return {**record, "input_args": [{**given[0], "dtype": "torch.float32"}, *given[1:]]}
    return record


def _shape_of(info: "dict[str, Any]") -> "tuple[int, ...]":
    shape = info.get("shape") or ()
    is_shape = isinstance(shape, (list, tuple)) and all(
        type(size) is int and size >= 0 for size in shape
    )
    if not is_shape:
        raise ValueError(f"{shape} is no shape of a tensor")
    return tuple(shape)


def _number(value: Any) -> Any:
    """Statistics that are not finite may be texts."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _limited(value: float, limits: Any) -> float:
    if math.isinf(value):
        return float(limits.max if value > 0 else limits.min)
    return value


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)
