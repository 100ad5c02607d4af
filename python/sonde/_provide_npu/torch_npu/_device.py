"""Lets torch take ``npu`` as the name of a device, whose tensors lie in the memory of the CPU.

torch asks the device of a name for memory; ours answers with tensors of the CPU, so that whatever
follows runs there. Nothing is wrapped and nothing costs a call, but for torch before 2.10, which
lets no Python answer for a device: there ``to`` of tensors and modules look at what they are given.
"""

import functools
from typing import Any, Callable

_NAME = "npu"
_kept: "list[Any]" = []  # torch refers to them for the life of the process


def install(torch: Any, module: Any) -> None:
    """Once a process. ``module`` becomes ``torch.npu``."""
    if _kept:
        return
    torch.utils.rename_privateuse1_backend(_NAME)
    torch._register_device_module(_NAME, module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=False)
    accelerators = getattr(torch._C, "_acc", None)
    if hasattr(accelerators, "register_python_privateuseone_device_guard"):
        _answer_for_device(torch, accelerators)
    else:
        wrap_moves(torch)
    _answer_for_memory(torch)
    torch.serialization.register_package(5, lambda obj: None, _restore)


def _answer_for_device(torch: Any, accelerators: Any) -> None:
    class Hooks(accelerators.PrivateUse1Hooks):  # type: ignore[misc]
        """Reports to torch that there is no such accelerator to choose by default."""

        def is_available(self) -> bool:
            return False

        def is_built(self) -> bool:
            return True

        def has_primary_context(self, device: int) -> bool:
            return False

    class Guard(accelerators.DeviceGuard):  # type: ignore[misc]
        """Switches between devices of which there is one."""

        def type_(self) -> Any:
            return torch._C._autograd.DeviceType.PrivateUse1

    _kept.extend([Hooks(), Guard()])
    accelerators.register_python_privateuseone_hook(_kept[0])
    accelerators.register_python_privateuseone_device_guard(_kept[1])


def _answer_for_memory(torch: Any) -> None:
    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    for name, function in (
        ("empty.memory_format", torch.empty),
        ("empty_strided", torch.empty_strided),
        ("tril_indices", torch.tril_indices),
        ("triu_indices", torch.triu_indices),
    ):
        library.impl(name, _on_cpu(function), "PrivateUse1")


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    def make(*args: Any, **options: Any) -> Any:
        options.pop("pin_memory", None)  # memory of the CPU as it is
        given = {name: value for name, value in options.items() if value is not None}
        given["device"] = "cpu"
        return function(*args, **given)

    return make


def _restore(storage: Any, location: str) -> Any:
    """For ``torch.load``: what was saved on an NPU, or is asked for there."""
    return storage if location.split(":")[0] == _NAME else None


def wrap_moves(torch: Any) -> None:
    """The way of older releases. ``cpu`` takes the place of the device among the arguments."""

    def is_npu(value: Any) -> bool:
        if isinstance(value, str):
            return value.split(":")[0] == _NAME
        return isinstance(value, torch.device) and value.type == _NAME

    def moved(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def to(self: Any, *args: Any, **options: Any) -> Any:
            args = tuple("cpu" if is_npu(value) else value for value in args)
            options = {name: "cpu" if is_npu(value) else value for name, value in options.items()}
            return original(self, *args, **options)

        return to

    def stays(self: Any, *_: Any, **__: Any) -> Any:
        return self

    for owner in (torch.Tensor, torch.nn.Module):
        owner.to = moved(owner.to)
        owner.npu = stays
