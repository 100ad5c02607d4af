"""A small training program with one change that its first argument names ("none": without one).

Nothing of it depends on the clock; the numbers are seeded. One step is one batch of the loader.
"""

import gc
import io
import sys
import time

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

CHANGE = sys.argv[1] if len(sys.argv) > 1 else "none"
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 14
WIDTH = 256
CLASSES = 64 if CHANGE == "padded_vocabulary" else 10
BATCH = 64 if CHANGE == "larger_batch" else 32
LENGTH = 24 if CHANGE == "longer_sequence" else 16


class Samples(Dataset):
    def __init__(self):
        self.data = torch.randn(STEPS, BATCH, LENGTH, WIDTH)

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        if CHANGE == "slow_loader":
            time.sleep(0.05)
        if CHANGE.startswith("workers_"):
            time.sleep(0.06)
        x = self.data[index]
        if CHANGE == "loader_normalizes":
            x = (x - x.mean()) / x.std()
        return x, torch.arange(BATCH) % 10


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=CHANGE != "no_bias")

    def forward(self, x):
        if CHANGE == "autocast_attention":
            with torch.autocast("cpu", torch.bfloat16):
                return self.attend(x).float()
        return self.attend(x)

    def attend(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if CHANGE == "attention_unfused":
            scores = torch.softmax(q @ k.transpose(-2, -1) / WIDTH**0.5, dim=-1)
            return self.out(scores @ v)
        if CHANGE == "python_loop":
            rows = [
                functional.scaled_dot_product_attention(q[i], k[i], v[i]) for i in range(len(q))
            ]
            return self.out(torch.stack(rows))
        if CHANGE == "contiguous_copy":
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        mask = None
        if CHANGE == "attention_mask":
            mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        return self.out(functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))


def activation():
    kinds = {"gelu": torch.nn.GELU(), "sigmoid": torch.nn.Sigmoid(), "silu": torch.nn.SiLU()}
    return kinds.get(CHANGE, torch.nn.ReLU())


def normalisation():
    if CHANGE == "other_norm":
        return torch.nn.RMSNorm(WIDTH)
    return torch.nn.LayerNorm(WIDTH)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = normalisation()
        self.attention = Attention()
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.act = activation()
        self.drop = torch.nn.Identity() if CHANGE == "no_dropout" else torch.nn.Dropout(0.1)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)
        if CHANGE == "extra_layer":
            self.extra = torch.nn.Linear(WIDTH, WIDTH)
        if CHANGE == "added_dropout":
            self.extra_drop = torch.nn.Dropout(0.1)

    def attended(self, x):
        if CHANGE == "checkpointed_attention":
            return checkpoint(self.attention, self.norm(x), use_reentrant=False)
        if CHANGE == "added_dropout":
            return self.extra_drop(self.attention(self.norm(x)))
        if CHANGE == "transposed_copy":
            return self.attention(self.norm(x).transpose(1, 2).contiguous().transpose(1, 2))
        return self.attention(self.norm(x))

    def forward(self, x):
        x = x + self.attended(x)
        y = self.down(self.drop(self.act(self.up(x))))
        return x + (self.extra(y) if CHANGE == "extra_layer" else y)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.head = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        if CHANGE == "recomputation":
            return self.head(checkpoint(self.block, x, use_reentrant=False).mean(dim=1))
        if CHANGE == "padded_sequence":
            x = functional.pad(x, (0, 0, 0, 8))
        return self.head(self.block(x).mean(dim=1))


def loss_of(model, x, y):
    if CHANGE == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            return functional.cross_entropy(model(x), y)
    if CHANGE == "other_loss":
        return functional.mse_loss(model(x), functional.one_hot(y, CLASSES).float())
    if CHANGE == "double":
        x = x.double()
    if CHANGE == "label_smoothing":
        return functional.cross_entropy(model(x), y, label_smoothing=0.1)
    if CHANGE == "shuffled_batch":
        x = x[torch.randperm(BATCH)]
    if CHANGE == "microbatches":
        parts = zip(x.chunk(4), y.chunk(4), strict=True)
        return sum(functional.cross_entropy(model(a), b) for a, b in parts) / 4
    return functional.cross_entropy(model(x), y)


def optimizer_of(model):
    if CHANGE == "adam":
        return torch.optim.AdamW(model.parameters(), 1e-3)
    if CHANGE == "rmsprop":
        return torch.optim.RMSprop(model.parameters(), 1e-3)
    if CHANGE == "fused_optimizer":
        return torch.optim.SGD(model.parameters(), 0.01, fused=True)
    if CHANGE == "weight_decay":
        return torch.optim.SGD(model.parameters(), 0.01, weight_decay=0.01)
    momentum = 0.9 if CHANGE == "momentum" else 0
    return torch.optim.SGD(model.parameters(), 0.01, momentum=momentum)


def after_backward(model, loss):
    if CHANGE == "clipping":
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if CHANGE == "item":
        for _ in range(5):
            loss.item()
    if CHANGE == "asked_loss" and loss > 1e9:
        raise SystemExit("the loss grows")
    if CHANGE == "checked_gradients":
        for parameter in model.parameters():
            assert torch.isfinite(parameter.grad).all()
    if CHANGE == "gradient_noise":
        for parameter in model.parameters():
            parameter.grad.add_(torch.randn_like(parameter.grad), alpha=1e-3)
    if CHANGE == "collections":
        gc.collect()
    if CHANGE == "python_work":
        sum(i * i for i in range(300_000))


def averaged(average, model):
    """An average of the weights over the steps."""
    with torch.no_grad():
        for mean, parameter in zip(average, model.parameters(), strict=True):
            mean.lerp_(parameter, 0.01)


def main():
    torch.set_num_threads(2 if CHANGE == "two_threads" else 1)
    torch.manual_seed(0)
    model = Model()
    if CHANGE == "double":
        model = model.double()
    called = model
    if CHANGE == "compiled":
        called = torch.compile(model)
    if CHANGE == "compiled_block":
        model.block.attention = torch.compile(model.block.attention)
    if CHANGE == "frozen_block":
        model.block.requires_grad_(False)
    optimizer = optimizer_of(model)
    average = [parameter.detach().clone() for parameter in model.parameters()]
    workers = int(CHANGE.removeprefix("workers_")) if CHANGE.startswith("workers_") else 0
    for x, y in DataLoader(Samples(), batch_size=None, num_workers=workers):
        optimizer.zero_grad(set_to_none=CHANGE != "zeroed_gradients")
        if CHANGE == "twice_forward":
            loss_of(called, x, y)
        loss = loss_of(called, x, y)
        loss.backward()
        after_backward(model, loss)
        optimizer.step()
        if CHANGE == "averaged_weights":
            averaged(average, model)
        if CHANGE == "written_checkpoint":
            torch.save(model.state_dict(), io.BytesIO())


if __name__ == "__main__":
    main()
