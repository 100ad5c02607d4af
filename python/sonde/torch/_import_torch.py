"""torch for programs that a command starts in a Python that the user may have named."""

import sys
from typing import Any


def import_torch() -> Any:
    """The module. Raises ``ValueError``, one line for people, where this Python has none."""
    try:
        import torch
    except ImportError as problem:
        raise ValueError(
            f"{sys.executable} cannot import torch ({problem}); name a Python that has it with "
            "--python"
        ) from problem
    return torch
