"""Faults and benign changes of a model on two ranks, wrapped by DDP or FSDP2.

The form is that of ``changes.py``. A change is made on each rank before it wraps the model;
``run.rank`` is its number. ``after_wrap`` of a run is called with the wrapped model.
"""

import contextlib

import changes
import torch
from changes import place

RANKS = 2
WRAPS = ("ddp", "fsdp2")


def wrap(run, kind_of_wrap):
    """The model as both ranks train it."""
    if kind_of_wrap == "ddp":
        from torch.nn.parallel import DistributedDataParallel

        wrapped = DistributedDataParallel(run.model, **run.ddp)
    else:
        from torch.distributed.fsdp import fully_shard

        for module in run.model.modules():
            if isinstance(module, torch.nn.ModuleList):
                for block in module:
                    fully_shard(block, **run.fsdp)
        wrapped = fully_shard(run.model, **run.fsdp)
    run.after_wrap(wrapped)
    return wrapped


@contextlib.contextmanager
def two_ranks(rank, store):
    """Both ranks of one machine, connected by gloo; `store` is a file of both."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    try:
        yield
        dist.barrier()
    finally:
        dist.destroy_process_group()


def same_data(run):
    """Rank 1 reads what rank 0 reads: the sampler does not know of ranks."""
    run.data_rank = 0
    return ["input", "index"]


def weight_of_one_rank(run):
    """Rank 1 changes a weight that wrapping has made alike on all."""
    path, _ = changes.linear(run)

    def change(wrapped):
        if run.rank == 1:
            for name, parameter in wrapped.named_parameters():
                if name.endswith(f"{path}.weight"):
                    local = getattr(parameter, "_local_tensor", parameter)
                    local.data.mul_(1.01)

    run.after_wrap = change
    return place(path)


def not_reduced(run):
    """Gradients stay each rank's own."""

    def change(wrapped):
        if hasattr(wrapped, "set_requires_gradient_sync"):
            wrapped.set_requires_gradient_sync(False)
        else:
            wrapped.require_backward_grad_sync = False

    run.after_wrap = change
    return ["grad", "optimizer", "clip", "norm", "mul", "lerp", "reduce", "weight"]


def summed(run):
    """Gradients of the ranks are added, and not averaged; clipping would hide it."""
    run.clip = 1e9

    def hook(state, bucket):
        future = torch.distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
        return future.then(lambda done: done.value()[0])

    if run.is_target:
        run.after_wrap = lambda wrapped: wrapped.register_comm_hook(None, hook)
    return ["grad", "optimizer", "clip", "norm", "mul", "lerp", "reduce", "weight"]


GRADIENTS = {"changed input", "optimizer differs", "operator differs", "argument differs",
             "order or number of calls differs", "another rank differs"}  # fmt: skip
FAULTS = {
    "same_data": (same_data, {"changed input"}),
    "weight_of_one_rank": (weight_of_one_rank, {"changed weight", "another rank differs"}),
    "not_reduced": (not_reduced, GRADIENTS),
    "summed": (summed, GRADIENTS),
    "norm_eps_everywhere": changes.FAULTS["norm_eps"],
    "weight_everywhere": changes.FAULTS["weight_scaled"],
    "rate_everywhere": changes.FAULTS["rate"],
}


def small_buckets(run):
    run.ddp = {"bucket_cap_mb": 0.001}
    run.fsdp = {"reshard_after_forward": False}


def views_of_buckets(run):
    run.ddp = {"gradient_as_bucket_view": True}
    run.fsdp = {"reshard_after_forward": True}


BENIGN = {
    "nothing_on_ranks": changes.nothing,
    "buckets": small_buckets,
    "views": views_of_buckets,
    "threads_on_ranks": changes.more_threads,
    "order_on_ranks": changes.other_order,
}
IN_TRAINING = {*FAULTS, *BENIGN}
BOTH_SIDES = frozenset({"summed"})
NOT_WITH = {("summed", "fsdp2")}  # gloo has no factor
FAMILIES = ("qwen2", "edges", "gpt2", "convnet", "llama")
