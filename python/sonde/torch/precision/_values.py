"""What the native side does not render by itself: arguments that are no plain tensors, numbers,
texts or containers. See ``adapt/probe/renderer.h`` for the answers.
"""

import dataclasses
import zlib
from contextlib import nullcontext
from typing import Any, Optional

from sonde.torch.precision import _errors
from sonde.torch.precision._device_statistics import DeviceStatistics

_MEMORY_FORMATS = {
    "torch.contiguous_format": "contiguous_format",
    "torch.channels_last": "channels_last",
    "torch.channels_last_3d": "channels_last_3d",
    "torch.preserve_format": "preserve_format",
}


def group_id(ranks: "list[int]") -> str:
    """Name of a process group: CRC-32 of its ranks as Python prints the list."""
    return f"{zlib.crc32(str(ranks).encode()):08x}"


class Describer:
    """Made once torch is there; ``describe`` is what the native side calls."""

    def __init__(
        self, torch: Any, summary: str, device: Optional[DeviceStatistics], only_looks: bool
    ) -> None:
        """``device``: where statistics need not be known at once. ``only_looks``: what is not saved
        is only looked at, for NaN and infinity."""
        self._torch = torch
        self._summary = summary
        self._statistics = device
        self._only_looks = only_looks

    def describe(self, value: Any, key: Optional[str], is_saved: bool) -> Optional[tuple]:
        """One value, which is the one of ``key`` in a dict if that is not None. ``is_saved``: its
        tensors go to files."""
        torch = self._torch
        if type(value) is Raw:
            return ("plain", value.value)
        if key in ("dtype", "output_dtype"):
            return (
                ("plain", {"type": "torch.dtype", "value": str(value)})
                if value is not None
                else None
            )
        if key == "device":
            return self._device(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value, is_saved)
        if isinstance(value, (bool, int, float, str)):
            return ("plain", {"type": type(value).__name__, "value": _builtin(value)})
        if isinstance(value, slice):
            parts = [_to_int(part) for part in (value.start, value.stop, value.step)]
            return ("plain", {"type": "slice", "value": parts})
        if value is Ellipsis:
            return ("plain", {"type": "ellipsis", "value": "..."})
        if isinstance(value, torch.Size):
            return ("plain", {"type": "torch.Size", "value": [int(size) for size in value]})
        if isinstance(value, torch.memory_format):
            name = _MEMORY_FORMATS.get(str(value), str(value))
            return ("plain", {"type": "torch.memory_format", "format": name})
        if isinstance(value, (torch.dtype, torch.device)):
            return ("plain", {})
        return self._structure(value)

    def _device(self, value: Any) -> Optional[tuple]:
        if value is None:
            return None
        if isinstance(value, self._torch.device):
            value = f"{value.type}:{value.index}"
        elif not isinstance(value, (str, int)):
            return None
        return ("plain", {"type": "torch.device", "value": value})

    def _structure(self, value: Any) -> Optional[tuple]:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return ("walk", {name: getattr(value, name) for name in value._fields})
        # Before containers: results of large models are both, and leave out what is None.
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = value.__dataclass_fields__
            return ("walk", {name: getattr(value, name) for name in names})
        if isinstance(value, tuple):
            return ("walk", tuple(value))
        if isinstance(value, list):
            return ("walk", list(value))
        if isinstance(value, dict):
            return ("walk", dict(value))
        kind = type(value).__module__
        if kind.partition(".")[0] == "numpy":
            return self._numpy(value)
        if kind.startswith("torch"):
            return self._torch_object(value)
        return None

    def _numpy(self, value: Any) -> Optional[tuple]:
        import numpy

        if isinstance(value, numpy.ndarray):
            record: dict[str, Any] = {
                "type": "numpy.ndarray",
                "dtype": str(value.dtype),
                "shape": list(value.shape),
            }
            record.update({"Max": None, "Min": None, "Mean": None, "Norm": None})
            if value.size and value.dtype.kind in "biufc":
                record.update(
                    Max=numpy.max(value).item(),
                    Min=numpy.min(value).item(),
                    Mean=numpy.mean(value).item(),
                    Norm=numpy.linalg.norm(value).item(),
                )
            if value.dtype.kind not in "biufc":
                return ("plain", record)
            return ("array", record, self._torch.tensor(value))
        if isinstance(value, numpy.generic):
            return ("plain", {"type": type(value).__name__, "value": _builtin(value.item())})
        return None

    def _torch_object(self, value: Any) -> Optional[tuple]:
        dist = getattr(self._torch, "distributed", None)
        if dist is None or not dist.is_available():
            return None
        if isinstance(value, dist.ProcessGroup):
            ranks = sorted(dist.get_process_group_ranks(value))
            return (
                "plain",
                {"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": group_id(ranks)},
            )
        if isinstance(value, dist.P2POp):
            group = value.group if value.group is not None else dist.group.WORLD
            ranks = sorted(dist.get_process_group_ranks(group))
            # "tensor" is walked as a tensor, the rest as builtin values would be: rendered plain.
            return (
                "fields",
                {
                    "class_type": Raw("torch.distributed.P2POp"),
                    "tensor": value.tensor,
                    "op": Raw(value.op.__name__),
                    "peer": Raw(value.peer),
                    "tag": Raw(value.tag),
                    "group_id": Raw(group_id(ranks)),
                },
            )
        if isinstance(value, (dist.ReduceOp, dist.ReduceOp.RedOpType)):
            return ("plain", {"type": "torch.distributed.ReduceOp", "value": str(value)})
        return None

    # Tensors that the native side could not read

    def _tensor(self, tensor: Any, is_saved: bool) -> tuple:
        torch = self._torch
        name = _special_type(torch, tensor)
        requires_grad = tensor.requires_grad
        functorch = torch._C._functorch
        while functorch.is_batchedtensor(tensor):
            tensor = functorch.get_unwrapped(tensor)
        record = {
            "type": name,
            "dtype": str(tensor.dtype),
            "shape": [int(size) for size in tensor.shape],
            **dict.fromkeys(_SUMMARY_FIELDS.get(self._summary, ())),
            "requires_grad": requires_grad,
        }
        if self._summary == "md5":
            record["md5"] = None
        if name in _WITHOUT_VALUES or tensor.device.type == "meta":
            return ("plain", record)
        extra = None
        if name == _DTENSOR:
            extra = _placement(tensor)
            tensor = tensor._local_tensor
        elif name == _NESTED:
            tensor = tensor.values()
        while functorch.is_gradtrackingtensor(tensor):
            tensor = functorch.get_unwrapped(tensor)
        if tensor.layout is not torch.strided or functorch.is_functorch_wrapped_tensor(tensor):
            return ("plain", record)
        # Where functions are transformed every result would be wrapped again.
        is_transformed = name in (_BATCHED, _GRAD_TRACKING)
        unwrapped = torch._C._DisableFuncTorch() if is_transformed else nullcontext()
        is_elsewhere = not tensor.is_cpu and not is_saved
        with unwrapped, torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            tensor = tensor.detach()
            numbers = self._statistics.of(tensor) if is_elsewhere and self._statistics else None
            if numbers is not None:
                return ("waits", self._filled(record, numbers, extra))
            if is_elsewhere and self._only_looks:
                kind = "plain" if self._is_finite(tensor) else "bad"
                return (kind, {**record, **(extra or {})})
            host = tensor.cpu().resolve_conj().resolve_neg()
            if type(host) is not torch.Tensor:
                host = host.as_subclass(torch.Tensor)
        return ("tensor", host, name, extra, requires_grad)

    def _filled(self, record: dict, numbers: dict, extra: Optional[dict]) -> dict:
        filled = {**record, **numbers, **(extra or {})}
        if self._summary == "md5":
            filled["md5"] = filled.pop("md5")  # behind all else
        return filled

    def _is_finite(self, tensor: Any) -> bool:
        """Found out on the device; integers and one-byte floats, which are not looked at, are."""
        torch = self._torch
        is_complex = tensor.is_complex()
        is_float = tensor.is_floating_point() and tensor.element_size() > 1
        if tensor.numel() == 0 or not (is_float or is_complex):
            return True
        extremes = torch.aminmax(tensor.abs() if is_complex else tensor)
        return bool(torch.isfinite(torch.stack(extremes)).all())


class Raw:
    """A value that is rendered without a record around it."""

    def __init__(self, value: Any) -> None:
        self.value = value


_DTENSOR = "torch.distributed.tensor.DTensor"
_FAKE = "torch._subclasses.fake_tensor.FakeTensor"
_ASYNC = "torch.distributed._functional_collectives.AsyncCollectiveTensor"
_NESTED = "torch.nested._internal.nested_tensor.NestedTensor"
_BATCHED = "BatchedTensor"
_GRAD_TRACKING = "GradTrackingTensor"
# Before "requires_grad".
_SUMMARY_FIELDS = {
    "statistics": ("Max", "Min", "Mean", "Norm"),
    "md5": ("Max", "Min", "Mean", "Norm"),
    "xor": ("md5",),
}
_WITHOUT_VALUES = (_FAKE, _ASYNC)


def _special_type(torch: Any, tensor: Any) -> str:
    functorch = torch._C._functorch
    if functorch.is_batchedtensor(tensor):
        return _BATCHED
    if functorch.is_gradtrackingtensor(tensor):
        return _GRAD_TRACKING
    kind = type(tensor)
    full = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__name__ == "DTensor":
        return _DTENSOR
    return full if full in (_FAKE, _ASYNC, _NESTED) else "torch.Tensor"


def _placement(tensor: Any) -> dict:
    placements = []
    for place in tensor.placements:
        if place.is_shard():
            placements.append({"Shard": {"dim": place.dim}})
        elif place.is_partial():
            placements.append({"Partial": {"reduce_op": place.reduce_op}})
        else:
            placements.append({"Replicate": {}})
    return {"device_mesh": tensor.device_mesh.mesh.tolist(), "placements": placements}


def _builtin(value: Any) -> Any:
    """The plain value of an instance of a subclass (an enum, a named number)."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value) if kind is not str else str.__str__(value)
    return None


def _to_int(value: Any) -> Optional[int]:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        _errors.warning(f"The data type {type(value)} cannot be converted to int type.")
        return None
