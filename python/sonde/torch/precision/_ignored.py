"""Arguments that hold nothing yet when they are recorded (buffers that a call fills)."""

from typing import Any

# API -> side -> positions (numbers) and keywords (texts) that become null.
_RULES: "dict[str, dict[str, tuple]]" = {
    "Distributed.recv": {"input": (0,)},
    "Distributed.irecv": {"input": (0, "tensor")},
    "Distributed.isend": {"output": (0,)},
    "Distributed.all_gather": {"input": (0,)},
    "Distributed.gather": {"input": (1,)},
    "Distributed.scatter": {"input": (0,)},
    "Distributed.reduce_scatter": {"input": (0,)},
    "Distributed._reduce_scatter_base": {"input": (0,)},
    "Distributed._all_gather_base": {"input": (0,)},
    "Distributed.all_to_all_single": {"input": (0,)},
    "Distributed.all_to_all": {"input": (0,)},
    "Distributed.all_gather_into_tensor": {"input": (0,)},
    "Distributed.reduce_scatter_tensor": {"input": (0,)},
    "NPU.npu_fusion_attention": {"output": (4, 5)},
}


def masked(name: str, side: str, args: tuple, kwargs: "dict[str, Any]") -> "tuple[tuple, dict]":
    """The values of a forward call with those left out that its rule names."""
    if not name.startswith(("Distributed.", "NPU.")):
        return args, kwargs
    places = _RULES.get(name.rsplit(".", 2)[0], {}).get(side)
    if not places:
        return args, kwargs
    left = tuple(None if index in places else value for index, value in enumerate(args))
    return left, {key: None if key in places else value for key, value in kwargs.items()}
