"""The configuration's ``load``: inputs of chosen modules are replaced by tensors of an earlier
dump, which cuts off what went wrong before them."""

import os
import re
from typing import Any, Optional

from sonde.torch.precision import _errors

_ENTRY = re.compile(r"\.forward\.\d+$")


def check(settings: Any, number_list: Any) -> "dict[str, Any]":
    """The checked object; raises ``MsprobeException``."""
    if not isinstance(settings, dict):
        raise _errors.refuse("load must be an object")
    path = settings.get("path")
    if not path:
        raise _errors.refuse("load.path is required")
    if not isinstance(path, str) or not os.path.isdir(path):
        raise _errors.refuse(f"load.path does not exist or is not a directory: {path}")
    modules = settings.get("modules")
    if not isinstance(modules, list) or not modules:
        raise _errors.refuse("load.modules is required and must be a non-empty list[str]")
    seen = set()
    for name in modules:
        _check_name(name)
        if name in seen:
            raise _errors.refuse(f"load.modules contains duplicate entry: {name}")
        seen.add(name)
    if not isinstance(settings.get("dump_after_load", False), bool):
        raise _errors.refuse("load.dump_after_load must be bool")
    return {
        "path": path,
        "modules": modules,
        "step": number_list(settings.get("step"), "step"),
        "rank": number_list(settings.get("rank"), "rank"),
        "dump_after_load": settings.get("dump_after_load", False),
    }


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise _errors.refuse("load.modules must be a list[str]")
    if not name.startswith("Module."):
        raise _errors.refuse(f"load.modules entry must start with 'Module.': {name}")
    if ".backward." in name:
        raise _errors.refuse(f"load.modules entry must use '.forward.N', not '.backward.N': {name}")
    if not _ENTRY.search(name):
        raise _errors.refuse(
            f"load.modules entry must end with '.forward.N' (N is a non-negative integer): {name}"
        )


class Loader:
    """Replaces inputs while a step of ``load`` runs. ``folder`` is None outside."""

    def __init__(self, torch: Any, settings: "dict[str, Any]") -> None:
        self._torch = torch
        self._settings = settings
        self._names = set(settings["modules"])
        self._met: set[str] = set()
        self._is_checked = False
        self._steps: set[int] = set()  # of the settings, that came
        self.folder: Optional[str] = None

    @property
    def loads_only(self) -> bool:
        """Whether nothing is recorded."""
        return not self._settings["dump_after_load"]

    def begin(self, step: int, rank: Optional[int], prefixes: "set[str]") -> bool:
        """A step begins; whether inputs are replaced in it. ``prefixes``: of hooked modules."""
        self._check(prefixes)
        settings = self._settings
        self.folder = None
        if settings["step"] and step not in settings["step"]:
            return False
        if settings["rank"] and rank not in settings["rank"]:
            return False
        self._steps.add(step)
        self.folder = self._source(step, rank)
        self._met.clear()
        return True

    def _check(self, prefixes: "set[str]") -> None:
        if self._is_checked:
            return
        self._is_checked = True
        bad = sorted(name for name in self._names if _ENTRY.sub("", name) not in prefixes)
        total = len(self._names)
        _errors.info(f"[load] module validation: {total - len(bad)}/{total} modules valid in model")
        for name in bad:
            _errors.warning(f"[load] invalid module: {name}")

    def _source(self, step: int, rank: Optional[int]) -> str:
        base = os.path.join(self._settings["path"], f"step{step}")
        folder = os.path.join(base, f"rank{rank}")
        if rank is None or not os.path.isdir(folder):
            places = sorted(os.listdir(base)) if os.path.isdir(base) else []
            processes = [name for name in places if name.startswith("proc")]
            folder = os.path.join(base, (processes or [f"rank{rank or 0}"])[0])
        return os.path.join(folder, "dump_tensor_data")

    def end(self) -> None:
        """Recording stops: what never came is named."""
        missing = sorted(self._names - self._met)
        if self.folder is not None and missing:
            _errors.warning(
                f"[load] {len(missing)} module(s) were configured but never matched during this "
                f"step: {missing}"
            )
        self.folder = None

    def warn_of_unmatched(self, last: int) -> None:
        """The program has ended, with this step: what it never came to is named."""
        never = sorted(set(self._settings["step"]) - self._steps)
        if never:
            _errors.warning(
                f"[load] never loaded: step {_errors.ranges(never)}; "
                f"the program came to step {last}"
            )

    def replace(self, name: str, args: tuple, kwargs: "dict[str, Any]") -> "Optional[tuple]":
        """New arguments of a module's call, None where they stay."""
        if self.folder is None or name not in self._names:
            return None
        self._met.add(name)
        new_args = tuple(
            self._load(f"{name}.input.{index}", value) for index, value in enumerate(args)
        )
        new_kwargs = {
            key: self._load(f"{name}.kwargs.{key}", value) for key, value in kwargs.items()
        }
        return new_args, new_kwargs

    def _load(self, name: str, value: Any) -> Any:
        torch = self._torch
        if not isinstance(value, torch.Tensor):
            return value
        path = os.path.join(self.folder or "", f"{name}.pt")
        if not os.path.exists(path):
            _errors.warning(f"[load] source data missing: {path}, keep original value")
            return value
        try:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as problem:  # noqa: BLE001: torch raises many kinds
            _errors.warning(f"[load] {path} cannot be read ({problem}), keep original value")
            return value
        if loaded.shape != value.shape or loaded.dtype != value.dtype:
            _errors.warning(
                f"[load] {name}: {loaded.dtype} {tuple(loaded.shape)} takes the place of "
                f"{value.dtype} {tuple(value.shape)}"
            )
        loaded = loaded.detach().to(value.device)
        needs = value.requires_grad and (loaded.is_floating_point() or loaded.is_complex())
        return loaded.requires_grad_(needs)
