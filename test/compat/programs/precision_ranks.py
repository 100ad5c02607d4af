"""One of two ranks that compute together: precision_ranks.py CONFIG RANK STORE."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


def collectives(rank):
    """Those that end at once, and those that are waited for."""
    x = torch.ones(2, 2) * (rank + 1)
    dist.all_reduce(x)
    dist.all_reduce(x, async_op=True).wait()
    dist.all_reduce(x, dist.ReduceOp.SUM, None, True).wait()
    dist.all_reduce(x, op=dist.ReduceOp.MAX, group=dist.new_group([0, 1]))
    handles = [dist.all_reduce(torch.ones(2) * i, async_op=True) for i in range(3)]
    for handle in reversed(handles):
        handle.wait()
    parts = [torch.zeros(2), torch.zeros(2)]
    dist.all_gather(parts, torch.full((2,), float(rank)))
    dist.all_gather(parts, torch.full((2,), rank + 1.0), async_op=True).wait()
    dist.broadcast(x, 0)
    dist.broadcast(x, src=1, group=dist.group.WORLD)
    dist.reduce(x, 0)
    dist.all_gather_into_tensor(torch.zeros(4), torch.ones(2) * rank)
    dist.scatter(torch.zeros(2), parts if rank == 0 else None, src=0)
    dist.gather(torch.ones(2) * rank, parts if rank == 0 else None, dst=0)


def messages(rank):
    received = torch.zeros(3)
    if rank == 0:
        dist.send(torch.ones(3), 1)
        dist.irecv(tensor=received, src=1).wait()
    else:
        dist.recv(received, 0)
        dist.isend(received * 2, 0).wait()


def main(config, rank, store):
    from msprobe.pytorch import PrecisionDebugger

    rank = int(rank)
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    debugger = PrecisionDebugger(config_path=config)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for work in (collectives, messages):
        debugger.start(model=model)
        work(rank)
        loss = functional.mse_loss(model(torch.randn(3, 4) + rank), torch.zeros(3, 2))
        loss.backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
    exchange = [dist.P2POp(dist.isend, torch.ones(2), 1 - rank)]
    exchange.append(dist.P2POp(dist.irecv, torch.ones(2), 1 - rank))
    debugger.start(model=model)
    for handle in dist.batch_isend_irecv(exchange):
        handle.wait()
    debugger.stop()
    debugger.step()
    print("digest", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
