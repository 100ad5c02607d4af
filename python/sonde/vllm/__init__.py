"""Sonde in a vLLM server or in offline ``LLM(...)``: nothing of vLLM is edited.

Two ways in: ``sonde run -- vllm serve ...``, and the entry point of the group
``vllm.general_plugins``, which vLLM calls in each of its processes (``SONDE=1`` switches it on).
``POST /start_profile`` and ``/stop_profile`` then record with Sonde on every rank. Dumps need no
switch: a server is dumped whose ``--additional-config`` has a ``dump_config``; a program with
``LLM(additional_config=...)`` sets ``SONDE=1``.
"""

import os
import sys

from sonde import _debug

_DUMPS = "SONDE_SERVER_DUMPS"


def register() -> None:
    """The plug-in: attaches to this process of vLLM where ``SONDE=1``, and watches for dumps where
    the server's configuration asks for one; else it does nothing. Safe to call again."""
    if os.environ.get("SONDE") == "1" and not os.environ.get("SONDE_ATTACH"):
        _attach()
    elif os.environ.get(_DUMPS) == "1" or _asks_for_dumps(sys.argv):
        os.environ[_DUMPS] = "1"  # for processes that do not have the words
        _watch_for_dumps()


def _attach() -> None:
    os.environ["SONDE_ATTACH"] = "profile"  # inherited: each process of the server attaches once
    try:
        import torch

        from sonde._inject import _attach as attaching

        attaching.attach(torch)
    except Exception as problem:  # the server must serve
        sys.stderr.write(f"sonde: this process is not recorded: {problem}\n")
        _debug.trace()
    finally:
        del os.environ["SONDE_ATTACH"]


def _asks_for_dumps(words: "list[str]") -> bool:
    """Whether the words of the command, or the file that they name, have a ``dump_config``."""
    if os.environ.get("SONDE_DUMP_CONFIG") or any("dump_config" in word for word in words):
        return True
    if not any(word.startswith("--config") for word in words):
        return False
    from sonde.vllm import _configuration

    return "dump_config" in _configuration.file_of(words)


def _watch_for_dumps() -> None:
    try:
        from sonde.vllm import _dump

        _dump.watch()
    except Exception as problem:  # the server must serve
        sys.stderr.write(f"sonde: this server cannot be dumped: {problem}\n")
        _debug.trace()
