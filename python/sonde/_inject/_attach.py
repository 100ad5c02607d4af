"""Attaches to a process that has just imported torch or MindSpore (called by ``sitecustomize``).

Decides whether this process is one to record: launchers and compile workers import a framework
without doing the program's work.
"""

import atexit
import contextlib
import functools
import importlib.util
import io
import os
import sys
from typing import Any

from sonde import _native, _report
from sonde._inject import _command, _frameworks, _options
from sonde._inject._run import Run, current_run, make_current
from sonde.session import _metadata

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


def attach(module: Any) -> None:
    """Starts recording as the environment asks, or goes on with one framework more. Whatever fails
    costs one line, nothing more."""
    command = _command.command_line()
    reason = _not_a_worker(command)
    if reason:
        _report.note("skipped", reason)
        return
    if os.environ.get("SONDE_ATTACH") == "dump":
        _attach_dump(module, command)
        return
    if os.environ.get("SONDE_ATTACH") != "profile":
        _fail(f"SONDE_ATTACH={os.environ.get('SONDE_ATTACH')} is not known")
        return
    framework = _frameworks.of_module(module)
    run = current_run()
    try:
        if run is not None:
            run.joins_framework(framework)
        else:
            _begin(framework, command)
    except (_native.NativeError, OSError, AttributeError) as problem:
        _fail(str(problem))
        if framework.name == "mindspore":
            _start_profiler_of_environment()
        return
    if framework.name == "torch":
        _follow_torch(module)
    else:
        _follow_mindspore()


def _begin(framework: _frameworks.Framework, command: list[str]) -> None:
    """The first framework of the process."""
    options = _options.read(lambda text: _report.log(text, error=True))
    _metadata.set_role("worker" if _works_for_a_rank(command) else "main")
    _load(framework)
    _metadata.watch_groups()
    run = Run(framework, options, _server_of(command))
    run.begin()
    make_current(run)
    atexit.register(_end)
    os.register_at_fork(after_in_child=_forked)


def _server_of(command: list[str]) -> Any:
    from sonde._inject import _hosts

    return next((known for known in _hosts.servers() if known.is_server(command)), None)


def _follow_torch(torch: Any) -> None:
    """What programs and servers of torch do to profile themselves."""
    from sonde._inject import _stand_in
    from sonde.torch import _device

    run = current_run()
    assert run is not None
    if run.leaves_it_to_the_program:
        _stand_in.install(torch, run.options, run, serves=run.serves)
    if _is_there("torch_npu"):
        from sonde._inject import _npu

        _npu.watch(_device.is_recorded("ascend"))
    if not run.serves:
        _await_server(torch, run.options, run)


def _is_there(package: str) -> bool:
    """Whether it is installed, without an import. ``--provide`` has its own."""
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    return found is not None and "_provide" not in (found.origin or "")


def _follow_mindspore() -> None:
    """What programs of MindSpore do to profile themselves."""
    from sonde.mindspore import _interface

    run = current_run()
    assert run is not None
    if run.leaves_it_to_the_program:
        _interface.owner = run
        _interface.install()
    _start_profiler_of_environment()


def _start_profiler_of_environment() -> None:
    """The profiler of ``MS_PROFILER_OPTIONS``, which MindSpore starts at the end of its import."""
    if "MS_PROFILER_OPTIONS" not in os.environ:
        return
    module = sys.modules.get("mindspore.profiler.envprofiler")
    profiler = getattr(module, "EnvProfiler", None)
    if profiler is not None:
        profiler.init_profiler()


def _await_server(torch: Any, options: _options.Options, run: Run) -> None:
    """The program may import a server later."""
    from sonde._inject import _hosts, _stand_in

    def joins(server: Any) -> None:
        run.joins_server(server)
        if run.leaves_it_to_the_program:
            _stand_in.install(torch, options, run, serves=True)

    for server in _hosts.servers():
        server.when_served(functools.partial(joins, server))


def _attach_dump(module: Any, command: list[str]) -> None:
    """``sonde run --dump-config``: the precision probe follows a server's engine steps, or the
    program's outermost modules."""
    config = os.environ.get("SONDE_DUMP_CONFIG")
    _report.note("attached", "")
    if config and module.__name__ == "torch" and _checks_kernels(config):
        return
    server = _server_of(command)
    if server is not None:
        server.watch_for_dumps()
        return
    if not config:
        return  # the program itself imports what --provide answers to
    from sonde.torch.precision._errors import PathError, ProbeError, ScopeError

    try:
        _dump_of(module, config).install()
    except (PathError, ProbeError, ScopeError) as problem:
        _refuse_dump(problem)
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _report.log(f"this process is not dumped: {problem}", error=True)
        _report.note("failed", str(problem))


def _checks_kernels(path: str) -> bool:
    """Whether the task is ``compile_check``, of servers and other programs alike: it is begun."""
    import json

    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    if config.get("task") != "compile_check":
        return False
    from sonde.torch import compile_check

    calls = (config.get("compile_check") or {}).get("calls", 1)
    if type(calls) is not int or calls < 1:
        _refuse_dump(ValueError("compile_check: calls must be a number of at least 1"))
    # vLLM keeps code that was compiled elsewhere, of which no graph is there.
    os.environ.setdefault("VLLM_DISABLE_COMPILE_CACHE", "1")
    compile_check.watch(config["dump_path"], calls)
    return True


def check_dump_config() -> None:
    """At the end of a process without a framework: whether its configuration would be refused. The
    launcher reports it where no process was dumped."""
    config = os.environ.get("SONDE_DUMP_CONFIG")
    if not config:
        return
    from sonde.torch.precision import _config

    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            content = _config.content_of(config)
            if content.get("task") != "compile_check":
                _config.check(content)
    except Exception as problem:  # noqa: BLE001: whatever makes it unusable
        _report.note("config", str(problem))


def _dump_of(module: Any, config: str) -> Any:
    if module.__name__ == "mindspore":
        from sonde._inject import _mindspore_dump

        return _mindspore_dump.DumpRun(config)
    from sonde._inject import _dump

    return _dump.DumpRun(module, config)


def prepare(name: str) -> None:
    """Before the import of a framework: what has to be set by then. Raises ``SystemExit`` where the
    run must not start."""
    is_dump = os.environ.get("SONDE_ATTACH") == "dump"
    config = os.environ.get("SONDE_DUMP_CONFIG") if is_dump else None
    if name != "mindspore" or (is_dump and not config):
        return
    from sonde.mindspore import _dump_config, _kernel_dump
    from sonde.torch.precision._errors import PathError, ProbeError, ScopeError

    try:
        if config:
            _kernel_dump.prepare(config)
        elif given := os.environ.get(_dump_config.VARIABLE):
            _dump_config.check(given)
    except (PathError, ProbeError, ScopeError) as problem:
        if config:
            _refuse_dump(problem)
        # Else its line is printed: nobody asked Sonde for a dump, and MindSpore will refuse it.


def _refuse_dump(problem: Exception) -> None:
    _report.log(f"the program was not started: {problem}", error=True)
    _report.note("failed", str(problem))
    raise SystemExit(2) from None


def _load(framework: _frameworks.Framework) -> None:
    """Opens the libraries. The recorder would act on these variables by itself while it loads,
    with settings of its own; children see them again."""
    names = ("SONDE_RECORD", "SONDE_CONTROL", "SONDE_CONFIG_PATH")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        framework.attach()
    finally:
        os.environ.update(kept)


def _not_a_worker(command: list[str]) -> str:
    """Why a process with a framework is left alone, empty for one to record."""
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
    _report.log(f"this process is not recorded: {text}", error=True)
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
