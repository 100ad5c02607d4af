"""What Sonde can record with this Python: ``python -m sonde.doctor [--json]``.

Prints one JSON object with ``--json`` (keys in docs/reference/doctor.md), else text for people.
Ends with status 0 whatever it finds; messages of other packages go to standard error.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any, Optional

from sonde import _native

SCHEMA = 1
_PACKAGES = ("torch_npu", "mindspore", "msprobe", "vllm", "triton", "numpy")
_OLDEST_TORCH = (2, 4)
_DEVICE_KINDS = ("cuda", "npu", "xpu", "mtia")

# Self-test part (first words of its name) -> what is lost without it, and what to do about it.
_LOSSES = (
    (
        "range layout",
        "all of operators but names and times",
        "install a C++ compiler (g++), with which the headers of this torch are asked, "
        "or use a torch from 2.4 to 2.15",
    ),
    ("operator", "operators", "use a torch from 2.4 to 2.15, or a newer Sonde"),
    ("shapes", "shapes and types of inputs", "use a torch from 2.4 to 2.15, or a newer Sonde"),
    ("sequence", "links from backward to forward", "use a torch from 2.4 to 2.15"),
    ("memory", "allocator events", "use torch from PyPI"),
    ("module", "ranges of modules", "use CPython 3.9 to 3.13"),
    ("stack", "Python call stacks", "use CPython 3.9 to 3.13"),
)
_MINDSPORE_REMEDY = "use MindSpore 2.7 to 2.10, or a newer Sonde"
_MINDSPORE_LOSSES = (
    ("runtime ranges", "operators, tasks and waits of MindSpore", _MINDSPORE_REMEDY),
    ("launches of graph kernels", "kernels of compiled graphs", _MINDSPORE_REMEDY),
    ("hand-overs", "arrows between MindSpore's threads", _MINDSPORE_REMEDY),
    ("shapes", "shapes and types of inputs of MindSpore's operators", _MINDSPORE_REMEDY),
    ("memory", "blocks of MindSpore's memory pool", _MINDSPORE_REMEDY),
    ("stack", "Python call stacks", "use CPython 3.9 to 3.13"),
)
_OTHER_LOSS = ("a part of the records", "use a torch from 2.4 to 2.15, or a newer Sonde")


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Sends what other packages print, from Python or C, to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _version_of(package: str) -> Optional[str]:
    try:
        return importlib.metadata.version(package.replace("_", "-"))
    except importlib.metadata.PackageNotFoundError:
        return None


def _import_torch() -> "tuple[Any, Optional[str]]":
    # An installed torch_npu would be loaded with it, and fails without CANN: a finding of its own.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    try:
        import torch

        return torch, None
    except Exception as problem:  # a broken installation raises anything
        return None, f"{type(problem).__name__}: {problem}"


def _torch_npu_error(torch: Any) -> Optional[str]:
    """Why an installed torch_npu cannot be imported; None where it can or is not installed."""
    if torch is None or not _is_installed("torch_npu"):
        return None
    try:
        importlib.import_module("torch_npu")
        return None
    except Exception as problem:  # of the loader, of CANN's own checks
        return f"{type(problem).__name__}: {problem}"


def _torch(torch: Any, error: Optional[str]) -> Optional[dict[str, Any]]:
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return None
    path = os.path.dirname(spec.origin) if spec.origin else None
    version = _version_of("torch")
    if torch is None:
        return {"version": version, "path": path, "supported": False, "error": error}
    version = str(torch.__version__)
    parts = version.split("+")[0].split(".")
    return {
        "version": version,
        "path": path,
        "cuda": getattr(torch.version, "cuda", None),
        "supported": (int(parts[0]), int(parts[1])) >= _OLDEST_TORCH,
        "error": None,
    }


def _import_mindspore() -> "tuple[Any, Optional[str]]":
    try:
        import mindspore

        return mindspore, None
    except Exception as problem:  # a broken installation raises anything
        return None, f"{type(problem).__name__}: {problem}"


def _mindspore(mindspore: Any, error: Optional[str]) -> Optional[dict[str, Any]]:
    spec = importlib.util.find_spec("mindspore")
    if spec is None:
        return None
    from sonde.mindspore._adapter import is_known

    version = _version_of("mindspore") or str(getattr(mindspore, "__version__", ""))
    return {
        "version": version,
        "path": os.path.dirname(spec.origin) if spec.origin else None,
        "supported": is_known(version),
        "error": error,
    }


def _accelerators(torch: Any) -> list[dict[str, Any]]:
    found = []
    for kind in _DEVICE_KINDS:
        device = getattr(torch, kind, None)
        try:
            if device is None or not device.is_available():
                continue
            for index in range(device.device_count()):
                found.append({"kind": kind, "index": index, "name": _device_name(device, index)})
        except Exception as problem:  # a driver that is half there raises anything
            print(f"sonde: cannot ask torch for {kind} devices: {problem}", file=sys.stderr)
    return found


def _device_name(device: Any, index: int) -> str:
    name = getattr(device, "get_device_name", None)
    return str(name(index)) if name is not None else ""


def _start_up_hook() -> dict[str, Any]:
    """Whether ``sonde run``'s hook is the sitecustomize that this interpreter would run."""
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_inject")
    if ours not in [os.path.abspath(entry or ".") for entry in sys.path]:
        ignored = sys.flags.ignore_environment
        reason = "PYTHONPATH is ignored (-E or -I)" if ignored else "not on PYTHONPATH"
        return {"found": False, "detail": reason}
    if sys.flags.no_site:
        return {"found": False, "detail": "sitecustomize is not run (-S)"}
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize")
    first = spec.origin if spec is not None else None
    found = first is not None and os.path.dirname(os.path.abspath(first)) == ours
    return {"found": found, "detail": first or "no sitecustomize found"}


def _recorder() -> dict[str, Any]:
    result: dict[str, Any] = {
        "path": _native.find_library(_native.RECORDER_LIBRARY),
        "version": None,
        "error": None,
    }
    try:
        result["version"] = _native.recorder().version()
    except _native.NativeError as problem:
        result["error"] = str(problem)
    return result


def _adapter(torch: Any) -> dict[str, Any]:
    result: dict[str, Any] = {
        "path": _native.find_library(_native.ADAPTER_LIBRARY),
        "checks": [],
    }
    if torch is None:
        return result
    from sonde.torch import _adapter as adapter

    try:
        checks = adapter.self_test().get("checks", [])
    except _native.NativeError as problem:
        checks = [{"part": "attach", "ok": False, "detail": str(problem)}]
    result["checks"] = [_check(check, _LOSSES) for check in checks]
    return result


def _mindspore_adapter(mindspore: Any) -> dict[str, Any]:
    from sonde.mindspore import _adapter as adapter

    result: dict[str, Any] = {"path": _native.find_library(adapter.LIBRARY), "checks": []}
    if mindspore is None:
        return result
    try:
        checks = adapter.self_test().get("checks", [])
    except _native.NativeError as problem:
        checks = [{"part": "attach", "ok": False, "detail": str(problem)}]
    result["checks"] = [_check(check, _MINDSPORE_LOSSES) for check in checks]
    return result


def _check(check: dict[str, Any], losses: "tuple[tuple[str, str, str], ...]") -> dict[str, Any]:
    name = str(check.get("part", ""))
    ok = bool(check.get("ok"))
    result = {"name": name, "ok": ok, "detail": check.get("detail", "")}
    if not ok:
        loss, remedy = _OTHER_LOSS
        for word, lost, advice in losses:
            if word in name:
                loss, remedy = lost, advice
        result.update(loses=loss, remedy=remedy)
    return result


def _profilers(torch: Any) -> list[str]:
    """Other profilers and tracers that are active in this interpreter."""
    found = []
    if sys.getprofile() is not None or threading._profile_hook is not None:  # type: ignore[attr-defined]
        found.append("a profile function set by sys.setprofile")
    if sys.gettrace() is not None:
        found.append("a trace function set by sys.settrace")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in range(6):
            name = monitoring.get_tool(tool)
            if name is not None:
                found.append(f"{name} (sys.monitoring)")
    if torch is not None:
        enabled = getattr(torch.autograd, "_profiler_enabled", None)
        if enabled is not None and enabled():
            found.append("torch.profiler")
    if os.environ.get("KINETO_USE_DAEMON"):
        found.append("torch.profiler on request of a daemon (KINETO_USE_DAEMON)")
    for library in os.environ.get("LD_PRELOAD", "").replace(":", " ").split():
        found.append(f"preloaded library {library}")
    return found


def examine() -> dict[str, Any]:
    """Everything that ``--json`` prints."""
    with _stdout_to_stderr():
        torch, error = _import_torch() if _is_installed("torch") else (None, None)
        has_mindspore = _is_installed("mindspore")
        mindspore, problem = _import_mindspore() if has_mindspore else (None, None)
        return {
            "schema": SCHEMA,
            "python": {
                "version": platform.python_version(),
                "executable": os.path.abspath(sys.executable),
                "implementation": platform.python_implementation(),
            },
            "start_up_hook": _start_up_hook(),
            "torch_npu_error": _torch_npu_error(torch),  # first: it shows torch its devices
            "torch": _torch(torch, error),
            "mindspore": _mindspore(mindspore, problem),
            "packages": {name: _version_of(name) for name in _PACKAGES},
            "accelerators": _accelerators(torch) if torch is not None else [],
            "recorder": _recorder(),
            "adapter": _adapter(torch),
            "mindspore_adapter": _mindspore_adapter(mindspore),
            "hosts": _hosts(),
            "distributed": _back_ends(torch),
            "profilers": _profilers(torch),
        }


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _hosts() -> list[dict[str, Any]]:
    """Whether the names that would be changed are in the installed sources."""
    from sonde._inject._hosts import HOSTS
    from sonde._seams import missing

    found = []
    for host in HOSTS:
        spec = importlib.util.find_spec(host.package)
        if spec is None or spec.origin is None:
            continue
        folder = os.path.dirname(os.path.dirname(spec.origin))
        version = next(filter(None, map(_version_of, host.distributions)), None)
        numbers = _numbers(version)
        seams = [seam for seam in host.seams() if not numbers or seam.fits(numbers)]
        # An extra one that names the release from which it is there is missed behind that.
        looked_for = [seam for seam in seams if seam.since or not seam.is_extra]
        lacks = {seam.title: missing(seam, folder) for seam in looked_for}
        found.append({
            "package": host.package,
            "version": version,
            "seams": len(seams),
            "missing": {title: names for title, names in lacks.items() if names != []},
        })  # fmt: skip
    return found


def _numbers(version: Optional[str]) -> tuple[int, ...]:
    """The first numbers of a version, none where it has none."""
    found = re.match(r"\d+(\.\d+){1,2}", version or "")
    return tuple(int(number) for number in found[0].split(".")) if found else ()


def _back_ends(torch: Any) -> list[str]:
    """Back ends of torch.distributed that this torch was built with."""
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available():
        return []
    names = ("gloo", "nccl", "mpi", "ucc", "xccl")
    tests = ((name, getattr(distributed, f"is_{name}_available", None)) for name in names)
    return [name for name, test in tests if test is not None and test()]


def _print_for_people(found: dict[str, Any]) -> None:
    python = found["python"]
    print(f"Python     {python['version']} {python['executable']}")
    torch = found["torch"]
    if torch is None:
        print("torch      not installed: nothing of PyTorch is recorded")
    else:
        state = torch["error"] or ("" if torch["supported"] else "too old, 2.4 is the oldest")
        print(f"torch      {torch['version']} {torch['path']} {state}".rstrip())
    if found["torch_npu_error"]:
        print(f"torch_npu  cannot be imported: {found['torch_npu_error']}")
        print("           remedy: install CANN, or `sonde run --provide torch_npu -- ...`")
    mindspore = found["mindspore"]
    if mindspore is not None:
        state = mindspore["error"] or ("" if mindspore["supported"] else "not known")
        print(f"mindspore  {mindspore['version']} {mindspore['path']} {state}".rstrip())
    print(f"back ends  {', '.join(found['distributed']) or 'none'}")
    print(f"recorder   {found['recorder']['error'] or found['recorder']['path']}")
    for check in [*found["adapter"]["checks"], *found["mindspore_adapter"]["checks"]]:
        mark = "ok  " if check["ok"] else "FAIL"
        print(f"adapter    {mark} {check['name']}: {check['detail']}")
        if not check["ok"]:
            print(f"           not recorded: {check['loses']}; remedy: {check['remedy']}")
    for host in found["hosts"]:
        print(f"host       {host['package']} {host['version']}: {host['seams']} changes known")
        for title, names in host["missing"].items():
            print(f"           not recorded: {title} ({_lack(names)})")
    for profiler in found["profilers"]:
        print(f"active     {profiler}")


def _lack(names: Optional[list[str]]) -> str:
    return f"no {', '.join(names)}" if names else "its module is not there"


def main(arguments: list[str]) -> int:
    """Prints what was found; the exit status."""
    found = examine()
    if "--json" in arguments:
        print(json.dumps(found))
    else:
        _print_for_people(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
