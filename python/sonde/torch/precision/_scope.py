"""Which calls are recorded: ``scope`` (a range), ``list`` (parts of names), the risk levels."""

import re
from typing import Callable, Optional

from sonde.torch.precision._config import Config
from sonde.torch.precision._errors import ScopeError
from sonde.torch.precision._names import LOW_RISK, is_core

_API = re.compile(
    r"^(Distributed|Functional|Torch|Tensor|Mint|MintFunctional|Primitive|Aten|VF|NPU|Jit)"
    r"\..*\.\d+\.(forward|backward)$"
)
_MODULE = re.compile(r"^(Cell|Module)\..*\.(forward|backward)\.\d+$")
_CALL_NUMBER = re.compile(r"\.\d+\.(forward|backward)$")
_MAX_SEEN = 1000  # names, to find the one that was meant


class Scope:
    """Without ``scope`` and ``list`` the risk level decides, and only then.

    State: whether execution is inside the range now, and the modules that a ``list`` opened.
    """

    def __init__(self, config: Config) -> None:
        self.range = config.scope
        self.parts = config.parts
        self._level = config.level
        self._risk = config.risk_level if config.level in ("L1", "mix") else "ALL"
        self._in_range = False
        self._open: set[str] = set()
        self._is_module_range = False
        self._unmatched = set(self.parts) | set(self.range)
        self.seen: set[str] = set()  # names of calls, while something has not matched
        if self.range:
            self._check_range()

    def _check_range(self) -> None:
        if len(self.range) != 2:
            raise ScopeError(
                f"scope参数指定区间断点，须传入长度为2的列表，实际长度为{len(self.range)}."
            )
        for name in self.range:
            is_api, is_module = bool(_API.match(name)), bool(_MODULE.match(name))
            if self._level == "L1" and not is_api:
                raise ScopeError(f"scope参数格式错误，要求格式为api完整命名，实际为{name}.")
            if self._level == "L0" and not is_module:
                raise ScopeError(f"scope参数格式错误，要求格式为模块完整命名，实际为{name}.")
            if self._level == "mix" and not (is_api or is_module):
                raise ScopeError(f"scope参数格式错误，要求格式为api或模块完整命名，实际为{name}.")
        self._is_module_range = self._level == "L0"

    @property
    def unmatched(self) -> "list[str]":
        """What of ``scope`` and ``list`` no call has matched so far."""
        return sorted(self._unmatched)

    def _match(self, name: str) -> None:
        if self._unmatched:
            found = {part for part in self.parts if part in name}
            self._unmatched -= found | {name}
            if len(self.seen) < _MAX_SEEN:
                self.seen.add(name)

    @property
    def filters(self) -> bool:
        """Whether ``scope`` or ``list`` is set."""
        return bool(self.range or self.parts)

    def begin_module(self, name: str) -> None:
        """Execution enters a module, forward or backward."""
        self._match(name)
        if self.range and name == self.range[0]:
            self._in_range = True
        if self._level == "mix" and any(part in name for part in self.parts):
            self._open.add(name)

    def end_module(self, name: str) -> None:
        """And leaves it."""
        self._match(name)
        if self.range and name == self.range[1]:
            self._in_range = False
        self._open.discard(name)

    def wants(self, name: str) -> bool:
        """Whether the call of this full name is recorded."""
        if not self.filters:
            return self._wants_risk(name)
        self._match(name)
        if self.range and not self._is_module_range and name == self.range[0]:
            self._in_range = True
        wanted = (not self.range or self._in_range) and (
            bool(self._open) or not self.parts or any(part in name for part in self.parts)
        )
        if self.range and not self._is_module_range and name == self.range[1]:
            self._in_range = False
        return wanted

    def _wants_risk(self, name: str) -> bool:
        if self._risk == "ALL" or name.startswith(("Module.", "Cell.")):
            return True
        return self.wants_api(_CALL_NUMBER.sub("", name))

    def wants_api(self, name: str) -> bool:
        """The risk level's answer for all calls of ``Type.api``."""
        api = name.partition(".")[2]
        if self._risk == "CORE":
            return is_core(api)
        return self._risk == "ALL" or api not in LOW_RISK or is_core(api)

    def static_filter(self) -> Optional[Callable[[str], bool]]:
        """``wants_api`` where no call of an API is decided differently from the others."""
        return None if self.filters else self.wants_api
