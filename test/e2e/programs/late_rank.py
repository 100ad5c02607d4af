"""All-reduces of two ranks of gloo; rank 1 comes late to each by a planted time.

Once, before the others, rank 0 alone does something in a group of its own.
"""

import time

import torch
import torch.distributed as dist

LATE_S = 0.06
COUNT = 8

dist.init_process_group("gloo")
rank = dist.get_rank()
alone = dist.new_group([0])
if rank == 0:
    dist.all_reduce(torch.ones(16), group=alone)
for _ in range(COUNT):
    dist.barrier()
    if rank == 1:
        time.sleep(LATE_S)
    dist.all_reduce(torch.ones(1024))
dist.destroy_process_group()
print(rank, COUNT * LATE_S)
