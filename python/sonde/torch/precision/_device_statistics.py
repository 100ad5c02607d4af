"""Statistics and checksums of tensors in the memory of a device: computed there, and fetched many
at a time.

Copying tensors to the host would cost bandwidth, and a synchronization each; so would asking for
single numbers. Formulas are the reference's (its release 26.2.0): in the tensor's own type, by the
kernels of the device. Until they are fetched, marks stand for the numbers; see
``probe/entry_file.h``.
"""

import threading
import uuid
from typing import Any, Callable, Optional

from sonde.torch.precision import _device_checksums
from sonde.torch.precision._device_checksums import Checksum

_REALS = ("float32", "float16", "bfloat16")
_OTHERS = ("float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128")


class DeviceStatistics:
    """Of one recorder. Threads: any, under the GIL; one fetches at a time."""

    def __init__(
        self,
        torch: Any,
        summary: str,
        with_sums: bool,
        failed: "Callable[[Exception], None]",
    ) -> None:
        """``summary``: statistics, md5 or xor. ``failed`` gets the reason why numbers cannot be
        fetched; null stands in their place then."""
        self.mark = f"of a device {uuid.uuid4().hex} "
        self._torch = torch
        self._summary = summary
        self._with_sums = with_sums
        self._failed = failed
        self._reals = {getattr(torch, name) for name in _REALS}
        self._known = self._reals | {getattr(torch, name) for name in _OTHERS}
        self._lock = threading.Lock()
        self._first = 0  # number of the first that waits
        self._waiting: list[Any] = []

    def of(self, tensor: Any) -> "Optional[dict[str, Any]]":
        """The fields that the summary has of a strided tensor: marks, or None where there is no
        value. No synchronization. None where the device has no kernels, or a checksum is sooner
        worked out by the host: a copy in host memory is needed."""
        if tensor.dtype not in self._known:
            return None
        is_captured = self._is_captured(tensor)
        fields = [] if self._summary == "xor" else ["Max", "Min", "Mean", "Norm"]
        numbers: list[Any] = [None] * len(fields)
        try:
            if self._summary != "statistics":
                checksum = None
                if not is_captured:
                    checksum = _device_checksums.of(self._torch, tensor, self._summary)
                    if checksum is None:
                        return None
                fields.append("md5")
                numbers.append(checksum)
            if self._summary != "xor" and not is_captured:
                numbers[:4] = self._numbers(tensor)
        except RuntimeError:
            return None
        return dict(zip(fields, self._marks(numbers)))

    def fetch(self) -> "tuple[int, list[Any]]":
        """Index of the first number that waited, and all that did."""
        with self._lock:
            first, waiting = self._first, self._waiting
            self._first += len(waiting)
            self._waiting = []
        try:
            return first, self._values(waiting)
        except Exception as problem:  # noqa: BLE001: the entries have more than numbers
            self._failed(problem)
            return first, [None] * len(waiting)

    def _numbers(self, tensor: Any) -> "list[Any]":
        torch = self._torch
        if tensor.numel() == 0:
            return [None] * 4
        if tensor.dtype is torch.bool:
            return [tensor.any(), tensor.all(), None, None]
        is_complex = tensor.is_complex()
        if tensor.dim() == 0 and not is_complex:
            return [tensor.clone()] * 4  # the program may change it
        magnitudes = tensor.abs() if is_complex else tensor
        low, high = torch.aminmax(magnitudes)
        is_real = tensor.dtype in self._reals and self._with_sums
        mean = magnitudes.mean() if is_real or is_complex else None
        return [high, low, mean, torch.norm(tensor) if is_real else None]

    def _is_captured(self, tensor: Any) -> bool:
        """Whether kernels are noted for later instead of being run."""
        return tensor.is_cuda and self._torch.cuda.is_current_stream_capturing()

    def _marks(self, numbers: "list[Any]") -> "list[Any]":
        marks: dict[int, str] = {}
        with self._lock:
            for number in numbers:
                if number is not None and id(number) not in marks:
                    marks[id(number)] = f"{self.mark}{self._first + len(self._waiting)}"
                    self._waiting.append(number)
        return [marks.get(id(number)) for number in numbers]

    def _values(self, waiting: "list[Any]") -> "list[Any]":
        torch = self._torch
        tensors = [number.word if type(number) is Checksum else number for number in waiting]
        groups: dict[tuple, list[int]] = {}
        for index, number in enumerate(tensors):
            groups.setdefault((number.device, number.dtype), []).append(index)
        for device in {device for device, _ in groups}:
            # Each was computed on the stream of its call.
            getattr(torch, device.type).synchronize(device)
        values: list[Any] = [None] * len(tensors)
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            for indexes in groups.values():
                together = torch.stack([tensors[index] for index in indexes]).tolist()
                for index, value in zip(indexes, together):
                    number = waiting[index]
                    values[index] = number.text(value) if type(number) is Checksum else value
        return values
