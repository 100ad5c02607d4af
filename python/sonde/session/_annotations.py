"""What a program adds to its recordings: metadata and a trace id, with their limits."""

import json
import uuid
from typing import Any, Callable, Optional

from sonde.session import _console
from sonde.session._console import guarded

_MAX_METADATA_TEXT = 4096
_MAX_METADATA_TOTAL = 50 * 1024
_MAX_TRACE_ID = 1024


class Annotations:
    """Base of the profile classes. Sizes are characters."""

    def __init__(self, custom_trace_id_callback: Optional[Callable[[], str]]) -> None:
        self._metadata: dict[str, Any] = {}
        self._metadata_size = 0
        self._trace_id_callback: Optional[Callable[[], str]] = None
        self._set_trace_id_callback(custom_trace_id_callback)
        self._trace_id = ""

    # Metadata

    @guarded()
    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the capture's metadata."""
        if self._metadata_fits(key, value):
            self._metadata[key] = value

    @guarded()
    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a value, given as JSON text, to the capture's metadata."""
        if not self._metadata_fits(key, value):
            return
        try:
            self._metadata[key] = json.loads(value)
        except (ValueError, RecursionError):
            _console.warning("The metadata value must be json format string. Skip this metadata")

    def _metadata_fits(self, key: Any, value: Any) -> bool:
        if not isinstance(key, str) or not isinstance(value, str):
            _console.warning("The key and value of metadata must be string. Skip this metadata.")
            return False
        if not 0 < len(key) <= _MAX_METADATA_TEXT or len(value) > _MAX_METADATA_TEXT:
            _console.warning("Invalid input key or value. Skip this metadata.")
            return False
        size = self._metadata_size + len(key) + len(value)
        if size >= _MAX_METADATA_TOTAL:
            _console.warning("Too many metadata added. Skip this metadata")
            return False
        if key in self._metadata:
            _console.warning(f"{key} is already saved as metadata, override it.")
        self._metadata_size = size
        return True

    # Trace id

    @guarded()
    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets the function that names the next recordings."""
        self._set_trace_id_callback(callback)

    def get_trace_id(self) -> str:
        """Name of the current or last recording, empty before the first."""
        return self._trace_id

    def _set_trace_id_callback(self, callback: Any) -> None:
        if callback is not None and not callable(callback):
            _console.warning(
                "Parameter custom_trace_id_callback is not callable, reset it to default."
            )
            callback = None
        self._trace_id_callback = callback

    def _new_trace_id(self) -> str:
        default = uuid.uuid4().hex.upper()
        if self._trace_id_callback is None:
            return default
        prefix = "Parameter custom_trace_id_callback"
        try:
            value = self._trace_id_callback()
        except Exception as problem:  # code of the program
            _console.warning(f"{prefix} raised an exception: {problem}, reset it to default.")
            return default
        if not isinstance(value, str) or len(value) > _MAX_TRACE_ID:
            _console.warning(
                f"{prefix} should return str(max length: {_MAX_TRACE_ID}), reset it to default."
            )
            return default
        return value
