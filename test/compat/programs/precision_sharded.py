"""One of two ranks that train in every way of sharing the work, each a step of the dump:
precision_sharded.py CONFIG RANK STORE."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    """Two blocks, the second one called twice and computed again in the backward pass."""

    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.embed = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(8, 10, bias=False)

    def forward(self, ids):
        x = self.blocks[0](self.embed(ids))
        for _ in range(2):
            x = checkpoint(self.blocks[1], x, use_reentrant=self.reentrant)
        return self.head(x)


def replicated():
    return DistributedDataParallel(Model(True), static_graph=True)


def sharded():
    model = Model(False)
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def wrapped(original):
    return FullyShardedDataParallel(
        Model(False),
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        device_id=torch.device("cpu"),
        use_orig_params=original,
    )


def main(config, rank, store):
    from msprobe.pytorch import PrecisionDebugger

    rank = int(rank)
    torch.set_num_threads(1)
    debugger = PrecisionDebugger(config_path=config)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    losses = []
    for make in (replicated, sharded, lambda: wrapped(False), lambda: wrapped(True)):
        torch.manual_seed(1)
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        debugger.start(model=model)
        loss = model(torch.tensor([[1, 2, 3], [4, 5, 6]]) + rank).pow(2).mean()
        loss.backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
        losses.append(loss.item())
    print("digest", losses)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
