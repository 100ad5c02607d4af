"""Facts about this process that go into a capture beside its records.

Each is one JSON value under a fixed key of ``sonde_metadata``:

``profiler_config``      object ``config`` of ``profiler_info.json``
``rank``, ``world_size`` numbers, -1 where unknown; ``rank_source`` names the source: ``RANK``
                         (environment), ``torch.distributed`` or ``none``
``local_rank``, ``local_world_size``  the same among the ranks of this machine: the number of the
                         device where the CPU stands in for it
``role``                 ``main``, or ``worker`` for a helper process of a rank
``parallel_group_info``  object of the process groups by name
``ENV_VARIABLES``        object of the variables that change how a job runs
``user_metadata``        object of what the program added
``trace_id``             text
``seams``                object of what became of each change of torch and of servers
``torch_version``, ``python_version``  text
"""

import functools
import os
import sys
from typing import Any

from sonde import _native
from sonde._seams import Part, Seam, states

ENV_VARIABLES = (
    "ASCEND_GLOBAL_LOG_LEVEL",
    "HCCL_RDMA_TC",
    "HCCL_RDMA_SL",
    "ACLNN_CACHE_LIMIT",
    "HOST_CACHE_CAPACITY",
    "ASCEND_ENHANCE_ENABLE",
    "PYTORCH_NPU_ALLOC_CONF",
    "ASCEND_LAUNCH_BLOCKING",
    "HCCL_ALGO",
)

# By torchrun, and by the launchers of MPI and Slurm where a program starts its ranks with those.
_LOCAL_RANK_VARIABLES = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
)
_LOCAL_SIZE_VARIABLES = (
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "SLURM_NTASKS_PER_NODE",
)

_role = "main"
_groups: dict[str, Any] = {}
_noted: dict[str, int] = {}  # which object each of them was
_described: dict[str, str] = {}  # what a framework calls those that it makes
_groups_failed = False
_parents_group: Any = None
_last_rank = -1  # as torch.distributed had them before the program destroyed its groups
_last_world_size = -1


def set_role(role: str) -> None:
    """Declares that this process is a ``worker`` of a rank, or ``main``.

    A worker that was forked has a copy of its rank's process groups; they do not make it a rank,
    groups of its own do.
    """
    global _role, _last_rank, _parents_group
    _role = role
    if role == "worker":
        _last_rank = -1
        distributed = _distributed()
        _parents_group = None if distributed is None else distributed.group.WORLD


def role() -> str:
    """``main``, or ``worker`` for a helper process of a rank."""
    return "main" if _role == "worker" and rank()[0] >= 0 else _role


def _distributed() -> Any:
    """torch.distributed when it is imported and has a process group, else None."""
    module = sys.modules.get("torch.distributed")
    try:
        if module is not None and module.is_available() and module.is_initialized():
            return None if module.group.WORLD is _parents_group else module
    except Exception:  # half-imported or replaced by the program
        return None
    return None


def _number_of(name: str) -> int:
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return -1


def rank() -> tuple[int, str]:
    """Rank of this process (-1: none known) and who knew it.

    The variable ``RANK`` comes first, as in torch_npu; MindSpore's launchers set ``RANK_ID``. A
    helper process inherits the variable of its rank without being one.
    """
    for name in ("RANK", *_of_mindspore("RANK_ID")):
        from_environment = _number_of(name)
        if from_environment >= 0 and _role == "main":
            return from_environment, name
    distributed = _distributed()
    if distributed is not None:
        return distributed.get_rank(), "torch.distributed"
    if _last_rank >= 0:
        return _last_rank, "torch.distributed"
    return -1, "none"


def world_size() -> int:
    """Number of ranks of the job, -1 where unknown."""
    distributed = _distributed()
    if distributed is not None:
        return distributed.get_world_size()
    if _last_world_size > 0:
        return _last_world_size
    return _first_number(("WORLD_SIZE", *_of_mindspore("RANK_SIZE")))


def _of_mindspore(name: str) -> tuple[str, ...]:
    """The variable where it is MindSpore that reads it: elsewhere it may mean anything."""
    return (name,) if "mindspore" in sys.modules else ()


def local_rank() -> int:
    """Number of this rank among those of its machine, -1 where it is unknown.

    A helper process has the variable of its rank, too: it works for the same device.
    """
    return _first_number(_LOCAL_RANK_VARIABLES)


def local_world_size() -> int:
    """Number of ranks on this machine, -1 where it is unknown."""
    return _first_number(_LOCAL_SIZE_VARIABLES)


def _first_number(names: tuple[str, ...]) -> int:
    return next((number for number in map(_number_of, names) if number >= 0), -1)


def parallel_groups() -> dict[str, Any]:
    """The process groups that this process has belonged to so far, by name.

    ``{name: {"group_name", "group_rank", "global_ranks"}}``; the group of all ranks is called
    ``default_group``, any other by its description or its name.
    """
    note_groups()
    return dict(_groups)


def note_groups() -> None:
    """Takes down the groups that exist now: programs destroy them before they end. What torch keeps
    of them is private, and may change any day: then one issue of the capture reports it."""
    global _groups_failed
    if _groups_failed:
        return
    try:
        _note_groups()
    except Exception as problem:  # noqa: BLE001: the boundary to the host
        _groups_failed = True
        _native.recorder().report_issue(f"Failed to get parallel group info, Exception: {problem}")


def describe_group(group: Any, text: str) -> None:
    """Records the framework's name of a process group that it made without ``group_desc``:
    ``tp:0``."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(module, "_world", None)
    name = getattr(world, "pg_names", {}).get(group)
    if name is not None:
        _described[str(name)] = text
        _noted.pop(str(name), None)


def _note_groups() -> None:
    module = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(module, "_world", None)
    if world is None or _distributed() is None:
        return
    for group, name in list(world.pg_names.items()):
        ranks = world.pg_group_ranks.get(group)
        if not ranks or _noted.get(str(name)) == id(group):
            continue
        _noted[str(name)] = id(group)
        shown = getattr(group, "group_desc", "")
        if shown in ("", "undefined"):
            shown = _described.get(str(name), str(name))
        if group is world.default_pg:
            shown = "default_group"
        _groups[str(name)] = {
            "group_name": shown,
            "group_rank": group.rank(),
            "global_ranks": sorted(ranks, key=ranks.__getitem__),
        }


def seams() -> tuple[Seam, ...]:
    """The groups are noted before the program destroys them."""
    modules = ("torch.distributed.distributed_c10d", "torch.distributed")
    parts = (Part("destroy_process_group", _note_before_destroy),)
    return (Seam("process groups that the program destroys", modules, parts, is_extra=True),)


def watch_groups() -> None:
    """Follows the program's process groups."""
    for seam in seams():
        seam.install()


def _note_before_destroy(*_: Any, **__: Any) -> None:
    global _last_rank, _last_world_size
    note_groups()
    distributed = _distributed()
    if distributed is not None:
        _last_rank, _last_world_size = distributed.get_rank(), distributed.get_world_size()


@functools.lru_cache(maxsize=1)
def _boot_id() -> str:
    """The boot of this machine: captures of one boot have one monotonic clock. Empty: unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def write_process_facts() -> None:
    """Hands everything that is known now to the recorder. Raises ``NativeError``."""
    recorder = _native.recorder()
    number, source = rank()
    facts: dict[str, Any] = {
        "rank": number,
        "rank_source": source,
        "world_size": world_size(),
        "local_rank": local_rank(),
        "local_world_size": local_world_size(),
        "role": role(),
        "ENV_VARIABLES": {name: os.environ.get(name, "") for name in ENV_VARIABLES},
        "python_version": ".".join(map(str, sys.version_info[:3])),
    }
    boot = _boot_id()
    if boot:
        facts["boot_id"] = boot
    torch = sys.modules.get("torch")
    if torch is not None:
        facts["torch_version"] = str(getattr(torch, "__version__", ""))
    facts["parallel_group_info"] = parallel_groups()
    changed = states()
    if changed:
        facts["seams"] = changed
    for key, value in facts.items():
        recorder.metadata(key, _native.json_text(value))
