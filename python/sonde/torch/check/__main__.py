"""``python3 -m sonde.torch.check``: what the native commands ``acc_check`` and ``reproduce`` start.

Ends with 0 when everything that could be checked was, with 1 and a line otherwise.
"""

import argparse
import json
import os
import sys
import warnings
from typing import Any, Optional

from sonde import _debug
from sonde._new_file import create_new
from sonde.torch._import_torch import import_torch
from sonde.torch.check import _acc_check, _entries, _reproduce


def _parse(words: "list[str]") -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sonde.torch.check", allow_abbrev=False)
    parser.add_argument("task", choices=("acc_check", "reproduce"))
    parser.add_argument("--api-info", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--device", default="")
    parser.add_argument("--config", default="")
    parser.add_argument("--go-on-from", default="")
    parser.add_argument("--save-error-data", action="store_true")
    parser.add_argument("--filter", action="store_true")
    parser.add_argument("--jit-compile", action="store_true")
    parser.add_argument("--entry", default="")
    parser.add_argument("--report", required=True, help="gets what was made, as JSON")
    return parser.parse_args(words)


def _torch() -> Any:
    torch = import_torch()
    try:
        import numpy  # noqa: F401  # the tables are computed with it
    except ImportError as problem:
        raise ValueError(f"{sys.executable} has no numpy: pip install numpy") from problem
    return torch


def _device(torch: Any, wanted: str) -> Any:
    """``wanted``: number of an accelerator, or empty for the first one, or the CPU."""
    accelerator = torch.accelerator if hasattr(torch, "accelerator") else None
    kind = ""
    try:
        import torch_npu  # noqa: F401  # registers the devices

        kind = "npu"
    except ImportError:
        if torch.cuda.is_available():
            kind = "cuda"
        elif accelerator is not None and accelerator.is_available():
            kind = accelerator.current_accelerator().type
    if not kind:
        if wanted not in ("", "0"):
            raise ValueError(f"-d {wanted}: this Python's torch sees no accelerator; leave it out")
        return torch.device("cpu")
    count = getattr(torch, kind).device_count()
    number = int(wanted or 0)
    if number >= count:
        raise ValueError(f"-d {number}: there are {count} devices, numbered from 0")
    return torch.device(kind, number)


def main(words: "Optional[list[str]]" = None) -> int:
    """Exit status."""
    options = _parse(sys.argv[1:] if words is None else words)
    try:
        # What was given is looked at before torch, which takes seconds or is not there.
        dump = _entries.Dump(options.api_info)
        if options.task == "reproduce":
            call = _reproduce.find(dump, options.entry)
        else:
            lists = _acc_check.Lists(options.config)
        torch = _torch()
        warnings.simplefilter("ignore")  # of how a call is made: they are the program's
        if options.task == "reproduce":
            report = {"program": _reproduce.write(torch, dump, call, options.out)}
        else:
            device = _device(torch, options.device)
            if device.type == "npu":
                torch.npu.set_compile_mode(jit_compile=options.jit_compile)
            report = _acc_check.check(torch, device, dump, lists, options)
        with open(options.report, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(report, file)
    except (ValueError, OSError) as problem:
        text = str(problem)
        if isinstance(problem, OSError) and problem.filename is not None:
            text = f"cannot use {problem.filename}: {problem.strerror}"
        sys.stderr.write(f"sonde: error: {text}\n")
        _debug.trace()
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("sonde: interrupted; -csv_path goes on from the rows that are there\n")
        return 130
    return 0


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Numpy's products here are of vectors: its threads would only wait beside those of torch.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
