"""``PrecisionDebugger.save()``: single values and their gradients, at level ``debug``."""

import itertools
from collections.abc import Iterator
from typing import Any

from sonde.torch.precision import _errors

_MAX_DEPTH = 400
_SCALARS = (int, float, str)


class Saver:
    """Counts the names of one step; writes ``debug.json``."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self._counts: dict[str, Iterator[int]] = {}
        self._is_open = False

    def end_step(self) -> None:
        """Counting starts again."""
        self._counts.clear()
        self._is_open = False

    def save(self, variable: Any, name: Any, save_backward: Any) -> None:
        """One value; what cannot be saved costs a warning."""
        service = self._service
        config = service.config
        if config.level != "debug" or config.task not in ("statistics", "tensor"):
            return
        if config.dump_enable is False:
            return
        if not self._is_possible(variable, name, save_backward):
            return
        service.has_begun = True
        if config.step and service.step_number not in config.step:
            return
        if not self._is_open:
            service.rank = service.framework_rank()
            if not service.open([]):
                return
            self._is_open = True
        count = next(self._counts.setdefault(name, itertools.count()))
        collector = service.collector
        was_free = collector.enter()
        try:
            collector.value(f"{name}.{count}.debug", variable)
            if save_backward:
                self._watch(variable, f"{name}_grad.{count}.debug")
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            if was_free:
                collector.leave()

    def _is_possible(self, variable: Any, name: Any, save_backward: Any) -> bool:
        if not isinstance(name, str):
            _errors.warning(
                "PrecisionDebugger.save() name not valid, it should be a string. Skipped."
            )
            return False
        if not isinstance(save_backward, bool):
            _errors.warning(
                "PrecisionDebugger.save() save_backward not valid, it should be a bool. Skipped."
            )
            return False
        if not self._is_savable(variable, 0):
            _errors.warning(
                f"PrecisionDebugger.save() variable {name} not valid, it should be a tensor, a "
                "number, a text, or dicts (keyed by texts), lists and tuples of them. Skipped."
            )
            return False
        return True

    def _is_savable(self, value: Any, depth: int) -> bool:
        if depth > _MAX_DEPTH:
            return False
        if isinstance(value, (list, tuple)):
            return all(self._is_savable(item, depth + 1) for item in value)
        if isinstance(value, dict):
            return all(
                isinstance(key, str) and self._is_savable(item, depth + 1)
                for key, item in value.items()
            )
        return isinstance(value, (self._service.torch.Tensor, *_SCALARS))

    def _watch(self, variable: Any, name: str) -> None:
        """Gradients arrive one by one: the entry begins as a structure of nothing."""
        collector = self._service.collector
        gradients = self._nothing(variable)
        holder = [gradients]
        collector.value(name, gradients)

        def hook(tensor: Any, container: Any, key: Any) -> None:
            def arrived(gradient: Any) -> None:
                container[key] = gradient
                was_free = collector.enter()
                try:
                    collector.value(name, holder[0])
                except Exception as problem:  # noqa: BLE001: the boundary to the user's program
                    collector.failed(problem)
                finally:
                    if was_free:
                        collector.leave()

            tensor.register_hook(arrived)

        self._each_tensor(variable, holder, 0, hook)

    def _nothing(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._nothing(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._nothing(item) for item in value]
        return None

    def _each_tensor(self, value: Any, container: Any, key: Any, hook: Any) -> None:
        if isinstance(value, self._service.torch.Tensor):
            if value.requires_grad:
                hook(value, container, key)
        elif isinstance(value, dict):
            for name, item in value.items():
                self._each_tensor(item, container[key], name, hook)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._each_tensor(item, container[key], index, hook)
