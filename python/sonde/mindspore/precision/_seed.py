"""``seed_all``: runs of one program repeat one another."""

import os
import random
from typing import Any

from sonde.torch.precision import _errors

_LARGEST = 2**32 - 1


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False) -> None:
    """Seeds Python, numpy and MindSpore. ``mode``: deterministic kernels, where MindSpore has them.
    ``rm_dropout``: dropout lets everything through; call it before layers are made."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise _errors.refuse("Seed must be integer.")
    if not 0 <= seed <= _LARGEST:
        raise _errors.refuse(f"Seed must be between 0 and {_LARGEST}.")
    if not isinstance(mode, bool):
        raise _errors.refuse("seed_all mode must be bool.")
    if not isinstance(rm_dropout, bool):
        raise _errors.refuse("The rm_dropout parameter must be bool.")
    import mindspore

    os.environ["PYTHONHASHSEED"] = str(seed)
    os.environ["HCCL_DETERMINISTIC"] = str(mode)
    random.seed(seed)
    mindspore.set_seed(seed)  # and numpy's
    mindspore.set_context(deterministic="ON" if mode else "OFF")
    if rm_dropout:
        _remove_dropout(mindspore)


def _remove_dropout(mindspore: Any) -> None:
    ops, mint = mindspore.ops, getattr(mindspore, "mint", None)
    for name in ("Dropout", "Dropout2D", "Dropout3D"):
        kind = getattr(ops, name, None)
        if kind is not None and not hasattr(kind, "_sonde_kept"):
            setattr(ops, name, _all_kept(kind))
    functional = getattr(getattr(mint, "nn", None), "functional", None)
    if functional is not None:
        functional.dropout = lambda input, p=0.5, training=True: input


def _all_kept(kind: Any) -> Any:
    def make(keep_prob: float = 0.5, *args: Any, **kwargs: Any) -> Any:
        return kind(1.0, *args, **kwargs)

    make._sonde_kept = True  # type: ignore[attr-defined]
    return make
