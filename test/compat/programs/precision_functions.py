"""Programs without modules: what functions of torch take and give; see precision_programs.py."""

import torch
from precision_recording import program
from torch import nn
from torch.nn import functional


@program
def complex_numbers(recording):
    weight = torch.randn(4, 4, dtype=torch.complex64, requires_grad=True)
    with recording(nn.Identity()):
        x = torch.view_as_complex(torch.randn(3, 4, 2))
        y = torch.matmul(x, weight)
        y = y * y.conj() + torch.polar(torch.ones(3, 4), torch.angle(y))
        z = torch.stft(torch.randn(64), 16, return_complex=True, window=torch.hann_window(16))
        out = torch.abs(y).sum() + y.real.sum() + torch.view_as_real(y.mH.resolve_conj()).mean()
        torch.add(y.conj(), 1), torch.mul(y.imag, 2), torch.neg(x.to(torch.complex128))
        out.backward()
    return [weight.grad.abs(), z.abs()]


@program
def written_to(recording):
    """Results that go to arguments, and chains of changes in place."""
    with recording(nn.Identity()):
        out, index = torch.zeros(3, 4), torch.zeros(3, dtype=torch.long)
        x = torch.randn(3, 4)
        torch.add(x, 1, out=out)
        values, places = torch.max(out, dim=1, out=(torch.zeros(3), index))
        y = out.clone().requires_grad_()
        z = (y * 1).mul_(2).add_(1).clamp_(min=-1).t_().add_(x.t())
        z[0].copy_(z[1]).neg_()
        z[:, ::2] *= 3
        z[z > 0.5] = 0
        z.index_fill_(0, torch.tensor([1]), 0.25).transpose_(0, 1)
        view = z.view(-1)
        view[1:3] += view[4:6]
        z = z.masked_scatter(z > 1, torch.ones(12)).scatter_(1, places[:, None] % 4, 0.5)
        functional.relu(z, inplace=True).sum().backward()
    return [out, values, places, z, y.grad]


@program
def many_results(recording):
    """Functions that give tuples, named ones, lists, numbers and nothing."""
    with recording(nn.Identity()):
        x = torch.randn(4, 4, requires_grad=True)
        parts = [*torch.linalg.svd(x), *torch.linalg.qr(x), *torch.sort(x, dim=0, descending=True)]
        parts += [torch.aminmax(x).min, torch.median(x, 0).values, torch.std_mean(x)[0]]
        parts += [*torch.split(x, [1, 3]), *x.chunk(2), *torch.unbind(x), *torch.frexp(x.detach())]
        parts += [torch.topk(x, 2).values, torch.unique(x.detach().round(), return_counts=True)[1]]
        parts += [*torch.broadcast_tensors(x, x[0]), torch.einsum("ij,jk->ik", x, x)]
        parts += [*torch.meshgrid(x[0], x[1], indexing="ij"), torch.block_diag(x, x)]
        parts += [
            torch.where(x > 0)[0],
            torch.where(x > 0, x, 0.0),
            torch.bucketize(x, x[0].sort()[0]),
        ]
        plain = [torch.equal(x, x), torch.allclose(x, x), x.stride(), x.size(), torch.is_tensor(x)]
        plain += [float(x.sum()), bool(x.any()), x.sum().item(), len(x), x.tolist()]
        plain.append(x.detach().numpy())
        sum(part.float().sum() for part in parts).backward()
    return [*parts, x.grad]


@program
def indexed(recording):
    """Keys of every kind."""
    with recording(nn.Identity()):
        x = torch.randn(3, 4, 5, requires_grad=True)
        y = x[..., 1:4:2][None, :, torch.tensor([0, 2])][:, :, ::1]
        z = x[torch.tensor([0, 2])[:, None], [1, 3]] + x[x.sum((1, 2)) > -100, 0][:2, None]
        w = torch.gather(x, 2, torch.zeros(3, 4, 1, dtype=torch.long)).squeeze(-1)
        v = x.index_select(1, torch.tensor([3, 0])).movedim(0, -1).flip(0).roll(1, 0)
        u = torch.take_along_dim(x, x.argsort(-1), -1).unfold(2, 2, 1).diagonal(0, 0, 1)
        (y.sum() + z.sum() + w.sum() + (v * 2).sum() + u.cumsum(0).sum()).backward()
    return [y, z, w, v, u, x.grad]


@program
def rare_types(recording):
    """Types that few operators know."""
    kinds = (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.complex32)
    found = []
    with recording(nn.Identity()):
        for kind in kinds:
            value = torch.ones(3).to(kind)
            found.append(torch.clone(value).to(torch.float32))
        packed = torch.quantize_per_tensor(torch.randn(4), 0.1, 10, torch.quint8)
        found.append(torch.add(packed.dequantize(), 1))
        torch.mul(torch.eye(3).to_sparse(), 2)
        torch.mul(torch.eye(3).to_sparse_csr(), 2)
        found.append(torch.sum(torch.eye(3, device="meta").sum().new_zeros(2, device="cpu")))
    return found


class Tagged(torch.Tensor):
    """A tensor of the program's own."""


@program
def subclasses(recording):
    with recording(nn.Identity()):
        x = torch.randn(3, 3).as_subclass(Tagged)
        y = torch.add(x, 1) * x
        z = functional.linear(y, torch.eye(3).as_subclass(Tagged)).relu()
        buffer = nn.Buffer(torch.ones(3))
        w = torch.mul(z, buffer)
    return [torch.Tensor(y.as_subclass(torch.Tensor)), w.as_subclass(torch.Tensor)]


@program
def transformed(recording):
    """Functions of torch.func."""
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    weights = {name: value.detach() for name, value in model.named_parameters()}

    def loss(values, x):
        return torch.func.functional_call(model, values, (x,)).pow(2).sum()

    with recording(model):
        gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(
            weights, torch.randn(3, 4)
        )
        jacobian = torch.func.jacrev(lambda x: torch.sin(x) * x)(torch.randn(3))
    return [*gradients.values(), jacobian]
