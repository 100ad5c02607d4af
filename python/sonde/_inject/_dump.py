"""``sonde run --dump-config``: dumps a program that knows nothing of it.

Recording begins with the first call of an outermost module and lasts to the end of the step: of
that call where there is no optimizer, else until every optimizer has stepped.
"""

import functools
import os
import threading
from typing import Any

from sonde._inject import _report
from sonde._inject._steps import StepHooks
from sonde.torch.precision import PrecisionDebugger


class DumpRun:
    """One process; make it right after ``import torch``."""

    def __init__(self, torch: Any, config: str) -> None:
        self._torch = torch
        self._debugger = PrecisionDebugger(config_path=config)
        self._hooks = StepHooks(torch, lambda: None, self._step_ends)
        self._depth = threading.local()
        self._pid = os.getpid()
        self._is_recording = False
        self._roots: set[int] = set()
        self._failed = False

    def install(self) -> None:
        """Puts the hooks in place."""
        self._hooks.install()
        module_class = self._torch.nn.Module
        original = module_class.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            depth = self._depth
            if getattr(depth, "open", False) or self._failed:
                return original(module, *args, **kwargs)
            depth.open = True
            try:
                self._begin(module)
                return original(module, *args, **kwargs)
            finally:
                depth.open = False

        module_class.__call__ = call

    def _begin(self, module: Any) -> None:
        """An outermost call begins: its modules are hooked, recording is on."""
        if os.getpid() != self._pid or isinstance(module, self._torch.jit.ScriptModule):
            return
        if self._is_recording and id(module) in self._roots:
            return
        try:
            self._debugger.start(model=module)
            self._roots.add(id(module))
            self._is_recording = True
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._fail(problem)

    def _step_ends(self) -> None:
        if not self._is_recording or os.getpid() != self._pid:
            return
        self._is_recording = False
        try:
            self._debugger.stop()
            self._debugger.step()
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._fail(problem)

    def _fail(self, problem: BaseException) -> None:
        self._failed = True
        _report.say(f"nothing more of this process is dumped: {problem}", error=True)
