"""Attaches to a process that has just imported torch (called by ``sitecustomize``).

Decides whether this process is one to record: launchers and compile workers import torch without
doing the program's work.
"""

import atexit
import functools
import os
from typing import Any

from sonde import _native, _report
from sonde._inject import _command, _hosts, _options, _stand_in
from sonde._inject._run import Run, current_run, make_current
from sonde.session import _metadata
from sonde.torch import _adapter, _device

# Set for child processes by a rank: whoever inherits it together with RANK works for that rank.
_OWNER_VARIABLE = "SONDE_RANK_OWNER"

_LAUNCHER_SCRIPTS = ("torchrun", "accelerate", "deepspeed")
_LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "accelerate.commands.launch",
    "deepspeed.launcher",
)


def attach(torch: Any) -> None:
    """Starts recording as the environment asks. Whatever fails costs one line, nothing more."""
    command = _command.command_line()
    reason = _not_a_worker(command)
    if reason:
        _report.note("skipped", reason)
        return
    if os.environ.get("SONDE_ATTACH") == "dump":
        _attach_dump(torch, command)
        return
    if os.environ.get("SONDE_ATTACH") != "profile":
        _fail(f"SONDE_ATTACH={os.environ.get('SONDE_ATTACH')} is not known")
        return
    options = _options.read(lambda text: _report.say(text, error=True))
    _metadata.set_role("worker" if _works_for_a_rank(command) else "main")
    try:
        _load()
        _metadata.watch_groups()
        server = next((known for known in _hosts.servers() if known.is_server(command)), None)
        run = Run(torch, options, server)
        run.begin()
    except (_native.NativeError, OSError, AttributeError) as problem:
        _fail(str(problem))
        return
    make_current(run)
    if run.leaves_it_to_the_program:
        _stand_in.install(torch, options, run, serves=server is not None)
    if _device.is_recorded("ascend"):
        from sonde._inject import _npu

        _npu.watch()
    if server is None:
        _await_server(torch, options, run)
    atexit.register(_end)
    os.register_at_fork(after_in_child=_forked)


def _await_server(torch: Any, options: _options.Options, run: Run) -> None:
    """The program may import a server later."""

    def joins(server: Any) -> None:
        run.joins_server(server)
        if run.leaves_it_to_the_program:
            _stand_in.install(torch, options, run, serves=True)

    for server in _hosts.servers():
        server.when_served(functools.partial(joins, server))


def _attach_dump(torch: Any, command: list[str]) -> None:
    """``sonde run --dump-config``: the precision probe follows a server's engine steps, or the
    program's outermost modules."""
    server = next((known for known in _hosts.servers() if known.is_server(command)), None)
    if server is not None:
        server.watch_for_dumps()
        return
    config = os.environ.get("SONDE_DUMP_CONFIG")
    if not config:
        return  # the program itself imports what --provide answers to
    from sonde._inject._dump import DumpRun
    from sonde.torch.precision._errors import PathError, ProbeError, ScopeError

    try:
        DumpRun(torch, config).install()
    except (PathError, ProbeError, ScopeError) as problem:
        _report.say(f"nothing is run with this configuration: {problem}", error=True)
        _report.note("failed", str(problem))
        raise SystemExit(2) from None
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _report.say(f"nothing of this process is dumped: {problem}", error=True)
        _report.note("failed", str(problem))


def _load() -> None:
    """Opens the libraries. The recorder would act on these variables by itself while it loads,
    with settings of its own; children see them again."""
    names = ("SONDE_RECORD", "SONDE_CONTROL", "SONDE_CONFIG_PATH")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        _adapter.attach()
    finally:
        os.environ.update(kept)


def _not_a_worker(command: list[str]) -> str:
    """Why a process with torch is left alone, empty for one to record."""
    text = " ".join(command)
    if "torch/_inductor/compile_worker" in text or "torch._inductor.compile_worker" in text:
        return "compile worker of Inductor"
    # Also with RANK set: pods of a cluster have it before any launcher runs.
    module, script = _command.program_of(command)
    if module.startswith(_LAUNCHER_MODULES):
        return f"launcher {module}"
    if os.path.basename(script) in _LAUNCHER_SCRIPTS:
        return f"launcher {os.path.basename(script)}"
    return ""


def _works_for_a_rank(command: list[str]) -> bool:
    """Whether this is a helper (data loader worker) that inherits its rank's variables."""
    is_child = "--multiprocessing-fork" in command or "multiprocessing.forkserver" in " ".join(
        command
    )
    owner = os.environ.get(_OWNER_VARIABLE)
    if "RANK" in os.environ and not is_child:
        os.environ[_OWNER_VARIABLE] = str(os.getpid())
        return False
    return is_child and "RANK" in os.environ and owner is not None


def _fail(text: str) -> None:
    _report.say(f"this process is not recorded: {text}", error=True)
    _report.note("failed", text)


def _end() -> None:
    try:
        run = current_run()
        if run is not None:
            run.end()
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _fail(str(problem))


def _forked() -> None:
    try:
        run = current_run()
        if run is not None:
            run.forked()
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _fail(str(problem))
