"""Inference: five calls of a root module, one of which fails; then one compiled as a whole.

With "bound" as argument the calls go by one bound method, as in loops that generate text; with
"in place" the module is compiled by its own method, with "wrapped" by torch.compile.
"""

import sys

import torch


class Root(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        if x is None:
            raise ValueError("no input")
        return self.layer(x).relu()


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    model = Root()
    if "in place" in sys.argv:
        model.compile(backend="eager")
    if "wrapped" in sys.argv:
        model = torch.compile(model, backend="eager")
    call = model.__call__ if "bound" in sys.argv else lambda x: model(x)
    for index in range(5):
        try:
            call(None if index == 2 else torch.ones(1, 4))
        except ValueError as problem:
            print(problem)
    whole = torch.compile(lambda x: model(x) + 1, backend="eager", fullgraph=True)
    print(tuple(whole(torch.ones(1, 4)).shape))


if __name__ == "__main__":
    main()
