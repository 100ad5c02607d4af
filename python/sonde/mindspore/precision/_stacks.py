"""Python stacks as the dump has them: innermost first, without frames of the probe."""

import functools
import linecache
import os
import sys
from typing import Any, Optional

_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def frames(skip: int = 1) -> "list[str]":
    """Of the calling thread."""
    found = []
    frame: Any = sys._getframe(skip + 1)
    while frame is not None:
        text = _describe(frame.f_code, frame.f_lineno)
        if text is not None:
            found.append(text)
        frame = frame.f_back
    return found


@functools.lru_cache(maxsize=65536)
def _describe(code: Any, line: int) -> Optional[str]:
    path = code.co_filename
    if path.startswith(_OUR_FOLDER):
        return None
    source = linecache.getline(path, line).strip()
    return f"File {path}, line {line}, in {code.co_name}, \n {source}" if source else None
