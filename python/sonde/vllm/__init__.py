"""Sonde in a vLLM server or in offline ``LLM(...)``: nothing of vLLM is edited.

Two ways in: ``sonde run -- vllm serve ...``, and the entry point of the group
``vllm.general_plugins``, which vLLM calls in each of its processes (``SONDE=1`` switches it on).
``POST /start_profile`` and ``/stop_profile`` then record with Sonde on every rank. Dumps need no
switch: a server is dumped whose ``--additional-config`` has a ``dump_config``.
"""

import os


def register() -> None:
    """The plug-in: attaches to this process of vLLM where ``SONDE=1``. Safe to call again."""
    _watch_for_dumps()
    if os.environ.get("SONDE") != "1" or os.environ.get("SONDE_ATTACH"):
        return
    os.environ["SONDE_ATTACH"] = "profile"  # inherited: each process of the server attaches once
    try:
        import torch

        from sonde._inject import _attach

        _attach.attach(torch)
    except Exception as problem:  # the server must serve
        import sys

        sys.stderr.write(f"sonde: this process is not recorded: {problem}\n")
    finally:
        del os.environ["SONDE_ATTACH"]


def _watch_for_dumps() -> None:
    try:
        from sonde.vllm import _dump

        _dump.watch()
    except Exception as problem:  # the server must serve
        import sys

        sys.stderr.write(f"sonde: this server cannot be dumped: {problem}\n")
