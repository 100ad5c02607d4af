"""Programs that change what is around a recording: torch.jit, transforms of torch.func, functions
registered manually, seeds; precision_surroundings.py CONFIG [NAME...].
"""

import sys
import types

import torch
from precision_recording import main, program
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional


class Scripted(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.inner(x)) + 1


@program
def scripts(recording):
    """Parts that torch.jit has compiled, before and while there is a recording."""
    model = nn.ModuleList(
        [torch.jit.script(Scripted()), Scripted(), torch.jit.trace(Scripted(), torch.ones(2, 4))]
    )
    x = torch.randn(2, 4, requires_grad=True)
    with recording(model):
        y = x
        for part in model:
            y = part(y)

        @torch.jit.script
        def late(value: torch.Tensor):
            return functional.gelu(value) * value

        z = late(y)
        torch.mul(z, 2).sum().backward()
    return [y, z, x.grad]


@program
def batches(recording):
    """Tensors with a hidden axis, and those that torch.func follows."""
    with recording(nn.Identity()):
        x = torch.randn(4, 3)
        y = torch.vmap(lambda row: torch.sin(row) * row)(x)
        z = torch.func.grad(lambda value: torch.cos(value).sum())(x)
        w = torch.func.jacfwd(torch.sin)(x[0])
    return [y, z, w]


@program
def without_values(recording):
    """Tensors whose elements nobody can read, and types without a checksum."""
    with recording(nn.Identity()):
        torch.add(torch.ones(2, device="meta"), 1)
        torch.neg(torch.ones(1, 0, 2))
        with FakeTensorMode():
            torch.add(torch.ones(2, 2), 1)
    return []


@program
def bytes_as_floats(recording):
    with recording(nn.Identity()):
        for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
            torch.clone(torch.tensor([0.0, 1.0, -2.0]).to(kind))
            torch.clone(torch.tensor(1.0).to(kind))
    return []


@program
def registered(recording):
    """Functions of the program's own, which every level records; one comes late, one goes."""
    library = types.ModuleType("library")
    library.product = lambda a, b, scale=1: torch.matmul(a, b) * scale
    library.twice = lambda a: {"twice": a * 2}
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    x = torch.randn(2, 4)
    debugger = recording.debugger
    if debugger is not None:
        debugger.register_custom_api(library, "product")
    with recording(model):
        y = library.product(model(x), x.t(), scale=2)
        if debugger is not None:
            debugger.register_custom_api(library, "twice", "Own")
        library.twice(y)["twice"].sum().backward()
    if debugger is not None:
        debugger.restore_custom_api(library, "product")
    with recording(model):
        library.twice(library.product(x, x.t()))
    return [y, model[0].weight.grad]


@program
def seeded(recording):
    """Dropout is taken away once there is a debugger, and stays away."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Dropout2d(0.5))
    x = torch.randn(2, 4)
    if recording.debugger is not None:
        from msprobe.pytorch import seed_all

        seed_all(3, rm_dropout=True)
    found = []
    for _ in range(3):
        with recording(model):
            y = functional.dropout(model(x), 0.5)
            found.append(functional.dropout3d(y, 0.5, True, True))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
