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


def line_for_failed(problem: BaseException) -> str:
    """Where torch_npu is installed without CANN, its import fails, by name or at the end of that of
    torch: one line, empty for other failures."""
    text, seen = "", set()
    step: Optional[BaseException] = problem
    while step is not None and id(step) not in seen:
        seen.add(id(step))
        text += f"{type(step).__name__} {step}\n"
        step = step.__cause__ or step.__context__
    is_import = isinstance(problem, (ImportError, RuntimeError, OSError))
    is_npu = "backend extension: torch_npu" in text or (
        "torch_npu" in text + _frames_of(problem)
        and any(name in text for name in ("libhccl", "libascend", "libacl", "libge_", "ASCEND"))
    )
    if not is_import or not is_npu:
        return ""
    return (
        "sonde: torch_npu is installed, and what it needs of CANN is not: "
        f"{_REMEDIES['torch_npu']}; TORCH_DEVICE_BACKEND_AUTOLOAD=0 imports torch without it\n"
    )


def _frames_of(problem: BaseException) -> str:
    """The files of its traceback."""
    names = []
    step = problem.__traceback__
    while step is not None:
        names.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    return "\n".join(names)


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
