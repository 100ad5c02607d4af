"""The profiler's configuration of vLLM: made where the user gave none, from our own switches or
from the variables of older versions; and what of it has no effect here.
"""

import os
import re
from typing import Any

from sonde import _report
from sonde._inject._options import Options

FOLDER_VARIABLE = "VLLM_TORCH_PROFILER_DIR"
_OTHER_REPORTED = "SONDE_SERVER_OTHER_PROFILER"
_OURS = "SONDE_SERVER_FOLDER"  # the variable's value where it is ours, not the user's

# Variables of vLLM before 0.13 (0.13 and 0.14 still read them) and what they are now.
_SWITCHES = (
    ("VLLM_TORCH_PROFILER_RECORD_SHAPES", "torch_profiler_record_shapes"),
    ("VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY", "torch_profiler_with_memory"),
    ("VLLM_TORCH_PROFILER_WITH_STACK", "torch_profiler_with_stack"),
    ("VLLM_TORCH_PROFILER_WITH_FLOPS", "torch_profiler_with_flops"),
    ("VLLM_TORCH_PROFILER_USE_GZIP", "torch_profiler_use_gzip"),
    ("VLLM_TORCH_PROFILER_DUMP_CUDA_TIME_TOTAL", "torch_profiler_dump_cuda_time_total"),
    ("VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM", "ignore_frontend"),
)
_NUMBERS = (
    ("VLLM_PROFILER_DELAY_ITERS", "delay_iterations"),
    ("VLLM_PROFILER_MAX_ITERS", "max_iterations"),
)

# Fields that cannot be honoured, and what there is instead.
_WITHOUT_EFFECT = (
    ("torch_profiler_use_gzip", "files are not compressed; `sonde analyse FOLDER --export-type "
                                "kineto` writes the trace in vLLM's form"),
    ("torch_profiler_dump_cuda_time_total", "operators are summed up in ASCEND_PROFILER_OUTPUT"),
)  # fmt: skip

# Kinds of vLLM's profilers that are not torch's: Sonde does not take their place.
_OTHERS = {"cuda": "CUDA's profiler (for Nsight Systems)", "proton": "Triton's Proton"}


def of_environment() -> dict[str, Any]:
    """The settings in the variables of older versions, empty without them."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return {}
    fields: dict[str, Any] = {"profiler": "torch", "torch_profiler_dir": folder}
    for variable, field in _SWITCHES:
        text = os.environ.get(variable, "").strip()
        if text:
            fields[field] = text.lower() not in ("0", "false")
    for variable, field in _NUMBERS:
        text = os.environ.get(variable, "").strip()
        if text.isdigit():
            fields[field] = int(text)
        elif text:
            _report.log(f"{variable}={text} is not possible and has no effect", error=True)
    return fields


def of_options(options: Options) -> dict[str, Any]:
    """The settings in the switches of ``sonde run``."""
    return {
        "profiler": "torch",
        "torch_profiler_dir": os.path.abspath(options.save_path),
        "torch_profiler_with_stack": options.with_stack,
        "torch_profiler_record_shapes": options.record_shapes,
        "torch_profiler_with_memory": options.with_memory,
    }


def fill(vllm_config: Any, options: Options) -> bool:
    """Configures the profiler of a program that did not, whether by its configuration or by the
    variables of older versions; whether the engine is Sonde's to record as a whole."""
    asked = of_environment()
    fields = asked or of_options(options)
    config = getattr(vllm_config, "profiler_config", None)
    if config is None:  # a version that reads the variable
        if asked:
            return asked["torch_profiler_dir"] == os.environ.get(_OURS)
        set_folder(options)
        return True
    if getattr(config, "profiler", None):
        return False
    for field, value in fields.items():
        setattr(config, field, value)
    return not asked


def set_folder(options: Options) -> None:
    """For a version that reads the variable, which is Sonde's from now on."""
    folder = os.path.abspath(options.save_path)
    os.environ[FOLDER_VARIABLE] = os.environ[_OURS] = folder


def file_of(words: list[str]) -> str:
    """The text of the file that ``--config`` names, empty without."""
    for place, word in enumerate(words):
        name, _, value = word.partition("=")
        if name != "--config":
            continue
        path = value or (words[place + 1] if place + 1 < len(words) else "")
        try:
            with open(path, encoding="utf-8") as file:
                return "\n" + file.read()
        except (OSError, ValueError):
            return ""  # vLLM reports what is wrong with it
    return ""


def is_in(given: str) -> bool:
    """Whether the words of a command, or the lines of its file, configure the profiler."""
    return re.search(r"(^|--)\s*['\"]?profiler[-_]config\b", given, re.MULTILINE) is not None


def warn(given: str) -> None:
    """One line for each field in a text of the user's that has no effect."""
    for field, instead in _WITHOUT_EFFECT:
        if field in given or field.replace("_", "-") in given:
            _report.log(f"{field} has no effect: {instead}")


def other_profiler(vllm_config: Any) -> str:
    """The kind of the profiler that is configured where that is not torch's, else empty."""
    kind = getattr(getattr(vllm_config, "profiler_config", None), "profiler", None)
    return kind if kind in _OTHERS else ""


def other_profiler_in(given: str) -> str:
    """The same of the words of a command, or the lines of its file."""
    kinds = "|".join(_OTHERS)
    found = re.search(rf"\bprofiler['\"]?\s*[:=\s]\s*['\"]?({kinds})\b", given)
    return found[1] if found else ""


def warn_of_other(kind: str, options: Options) -> None:
    """Once a server: what Sonde does beside such a profiler."""
    if kind and not os.environ.get(_OTHER_REPORTED):
        os.environ[_OTHER_REPORTED] = "1"
        _report.log(
            f"profiler {kind}: the ranks are left to {_OTHERS[kind]}, which vLLM starts there; "
            f"requests and engine steps are recorded into {os.path.abspath(options.save_path)} "
            '("profiler": "torch" has the ranks recorded, too)'
        )


def value_of(words: list[str], given: str, option: str) -> str:
    """The value of an option in the words of a command or the lines of its file; else empty."""
    for place, word in enumerate(words):
        name, sign, value = word.partition("=")
        if name.replace("_", "-") == f"--{option}":
            return value if sign else "".join(words[place + 1 : place + 2])
    found = re.search(rf"^\s*['\"]?{option}['\"]?\s*:\s*['\"]?([^'\"#\s]+)", given, re.MULTILINE)
    return found[1] if found else ""


def is_compiled(vllm_config: Any) -> bool:
    """Whether the compiler of torch makes one function of the model."""
    if getattr(vllm_config.model_config, "enforce_eager", False):
        return False
    compilation = vllm_config.compilation_config
    level = getattr(compilation, "mode", getattr(compilation, "level", 0))
    return bool(int(level or 0))
