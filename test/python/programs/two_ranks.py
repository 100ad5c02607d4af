"""Two ranks over Gloo with a group of their own; destroys its groups before it ends."""

import sys

import torch
import torch.distributed as dist


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    pair = dist.new_group([0, 1], group_desc="pair")
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        (weight * (dist.get_rank() + step)).sum().backward()
        dist.all_reduce(weight.grad, group=pair)
        optimizer.step()
        optimizer.zero_grad()
    sys.stdout.write(f"rank {dist.get_rank()} {weight.sum().item()}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
