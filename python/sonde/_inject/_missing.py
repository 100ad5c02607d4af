"""What to do where a program ends because a package of its guide is not installed.

Asked once a process, by the start-up hook, after the interpreter has printed its own message.
"""

import sys
from typing import Optional

_OTHER_PYTHON = (
    "start the program with the Python of the environment that has it "
    "(`sonde run -- /path/to/env/bin/python ...`)"
)
_REMEDIES = {
    "torch": _OTHER_PYTHON,
    "torch_npu": "`sonde run --provide torch_npu -- ...` gives the program its profiler and marks, "
    "on the CPU",
    "msprobe": "`sonde run --provide msprobe -- ...` answers for it with Sonde's precision probe",
    "vllm": _OTHER_PYTHON,
    "vllm_ascend": "it is installed beside vLLM on a machine with an NPU (`pip install "
    "vllm-ascend`); without it the same command of vLLM is recorded on the CPU or a GPU",
    "vllm_mindspore": "it is built from source on a machine with an NPU, as its guide describes; "
    "without it `python3 -m vllm.entrypoints.openai.api_server` with the same options is recorded",
    "mindspore": f"`pip install mindspore`, or {_OTHER_PYTHON}",
    "mindspeed": "its guide clones it: put the clone on PYTHONPATH",
    "mindspeed_llm": "its guide clones it: put the clone on PYTHONPATH",
    "mindformers": "its guide clones it: put the clone on PYTHONPATH",
}


def line_for(package: Optional[str]) -> str:
    """One line with its end for the missing package of that name; empty for one we know nothing
    of."""
    remedy = _REMEDIES.get((package or "").partition(".")[0])
    return f"sonde: this Python has no {package}: {remedy}\n" if remedy else ""


def run_as_module() -> Optional[str]:
    """The package of ``python -m package.module`` where that could not be found."""
    words = iter(getattr(sys, "orig_argv", [])[1:])
    for word in words:
        if word in ("-X", "-W"):
            next(words, None)
        elif word == "-m":
            package = next(words, "").partition(".")[0]
            return package if package not in sys.modules else None
        elif not word.startswith("-") or word == "-c":
            return None
    return None
