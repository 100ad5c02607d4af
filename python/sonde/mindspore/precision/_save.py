"""``PrecisionDebugger.save``: one value, and its gradient, at level ``debug``."""

from typing import Any, Callable, Optional

from sonde.mindspore.precision._files import StepFiles
from sonde.mindspore.precision._values import Describer
from sonde.torch.precision import _errors
from sonde.torch.precision._config import Config

_TYPES = (int, float, str, dict, list, tuple)


class Saver:
    """``folder()``: of the running step."""

    def __init__(self, mindspore: Any, config: Config, folder: Callable[[], str]) -> None:
        self._config = config
        self._folder = folder
        self._values = Describer(mindspore, config.summary_mode, config.precision == "high")
        self._files: Optional[StepFiles] = None
        self._counts: dict[str, int] = {}

    def save(self, variable: Any, name: str, save_backward: bool) -> None:
        """Writes ``debug.json`` again."""
        if self._config.level != "debug" or self._config.task not in ("statistics", "tensor"):
            return
        if not isinstance(name, str) or not isinstance(save_backward, bool):
            _errors.warning("PrecisionDebugger.save() needs a text as name; nothing is saved")
            return
        if not self._values.is_tensor(variable) and not isinstance(variable, _TYPES):
            _errors.warning(f"PrecisionDebugger.save() takes no {type(variable).__name__}")
            return
        files = self._open()
        number = self._counts.get(name, 0)
        self._counts[name] = number + 1
        key = f"{name}.{number}.debug"
        files.entries[key] = self._values.record(variable, "", self._saver(files, key))
        if save_backward:
            self._follow(files, variable, f"{name}_grad.{number}.debug")
        files.write()

    def _follow(self, files: StepFiles, variable: Any, key: str) -> None:
        def without(value: Any) -> Any:
            if isinstance(value, dict):
                return {str(name): without(item) for name, item in value.items()}
            if isinstance(value, (list, tuple)):
                return [without(item) for item in value]
            return None

        root: dict[str, Any] = {"": without(variable)}
        files.entries[key] = root[""]

        def hook(value: Any, holder: Any, at: Any, place: str) -> None:
            if isinstance(value, dict):
                for name, item in value.items():
                    hook(item, holder[at], str(name), f"{place}.{name}")
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    hook(item, holder[at], i, f"{place}.{i}")
            elif self._values.is_tensor(value):
                value.register_hook(
                    lambda gradient: self._came(files, key, root, holder, at, place, gradient)
                )

        hook(variable, root, "", "")

    def _came(
        self,
        files: StepFiles,
        key: str,
        root: "dict[str, Any]",
        holder: Any,
        at: Any,
        place: str,
        gradient: Any,
    ) -> None:
        holder[at] = self._values.record(gradient, place, self._saver(files, key))
        files.entries[key] = root[""]
        files.touch(key)
        files.write()

    def _saver(self, files: StepFiles, key: str) -> "Optional[Callable[[Any, str], str]]":
        if self._config.task != "tensor":
            return None
        return lambda array, place: files.save(array, f"{key}{_dotted(place)}")

    def _open(self) -> StepFiles:
        if self._files is None:
            head = {"task": self._config.task, "level": "debug", "framework": "mindspore"}
            saves = self._config.task == "tensor"
            self._files = StepFiles(self._folder(), head, saves, "debug.json")
        return self._files

    def end_step(self) -> None:
        """What follows gets files of its own."""
        self._files = None
        self._counts.clear()


def _dotted(place: str) -> str:
    return f".{place.strip('.')}" if place.strip(".") else ""
