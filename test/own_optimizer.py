"""For programs of tests, as text before their own: an optimizer as users write them.

torch's own load its compiler at their first step, which takes as long as torch itself. Where a test
is about something else, some of its programs use one of those, and the others this.
"""

import torch

for part in vars(torch.optim.Optimizer).values():
    if hasattr(part, "__wrapped__"):  # what it would ask the compiler for: not to compile this
        setattr(part.__wrapped__, "__dynamo_disable", part.__wrapped__)


class Descent(torch.optim.Optimizer):
    def __init__(self, weights, lr=0.1):
        super().__init__(weights, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for weight in self.param_groups[0]["params"]:
            if weight.grad is not None:
                weight -= self.param_groups[0]["lr"] * weight.grad
