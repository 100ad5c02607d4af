"""Hot reload: a configuration with ``dump_enable`` is looked at again while the program runs."""

import os
import time
from typing import Any, Callable, Optional

from sonde.torch.precision import _config, _errors

_PAUSE_ON_S, _PAUSE_OFF_S = 0.5, 3.0


class Reload:
    """One file and the constructor's arguments that win over it."""

    def __init__(self, path: str, overrides: tuple, clock: Callable[[], float] = time.monotonic):
        self._path = path
        self._overrides = overrides
        self._clock = clock
        self._stamp = self._look()
        self._looked_at = clock()

    def _look(self) -> "Optional[tuple[int, int]]":
        try:
            about = os.stat(self._path)
        except OSError:
            return None
        return about.st_mtime_ns, about.st_size

    def changed(self, config: Any) -> Any:
        """The new configuration, None where it is as before. One that cannot be read switches
        recording off."""
        pause = _PAUSE_OFF_S if config.dump_enable is False else _PAUSE_ON_S
        now = self._clock()
        if now - self._looked_at < pause:
            return None
        self._looked_at = now
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            new = _config.read(self._path, *self._overrides)
        except Exception as problem:  # noqa: BLE001: whatever the file holds
            _errors.error(f"Config hot reload skipped because parsing failed: {problem}")
            config.dump_enable = False
            return None
        if new.dump_enable is None:
            new.dump_enable = config.dump_enable
        return new
