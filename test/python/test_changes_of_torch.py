"""What is changed in torch: every part of every change fails once, and the program computes the
same, reports it in one line, and the rest goes on."""

import copy
import dataclasses

import pytest
from sonde._inject import _dynamo, _steps
from sonde._seams import APPLIED, FAILED
from sonde.session import _metadata

torch = pytest.importorskip("torch")

STEPS = 3


class Reported:
    def __init__(self):
        self.calls = []

    def note(self, what):
        return lambda *_: self.calls.append(what)


def train():
    """Losses of a program with a data loader, an optimizer, and a module compiled in place."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    model.compile(backend="eager")
    optimizer = type("Mine", (torch.optim.SGD,), {})(model.parameters(), lr=0.1)
    losses = []
    for (batch,) in torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(STEPS * 2, 4)), batch_size=2
    ):
        optimizer.zero_grad()
        loss = model(batch).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    compiled = torch.compile(torch.nn.Linear(4, 1), backend="eager")
    with torch.no_grad():
        losses.append(compiled(torch.ones(1, 4)).sum().item())
    return losses


@pytest.fixture(name="hooks")
def make_hooks():
    """Hooks that are in place, and gone afterwards."""
    made = []
    hooked = torch.nn.modules.module
    before = copy.copy(hooked._global_forward_pre_hooks), copy.copy(hooked._global_forward_hooks)

    def make(reported, **changes):
        hooks = _steps.StepHooks(torch, changes.get("begin", reported.note("begin")),
                                 changes.get("end", reported.note("end")))  # fmt: skip
        for seam in hooks._seams:
            seam.parts = tuple(changes.get(part.path, part) for part in seam.parts)
        hooks.install()
        made.extend([*hooks._seams, hooks._gradients])
        return hooks

    yield make
    for seam in reversed(made):
        seam.undo()
    for now, then in zip((hooked._global_forward_pre_hooks, hooked._global_forward_hooks), before):
        now.clear()
        now.update(then)


def failing(part, kind):
    if part.replace is not None:
        if kind == "before":

            def replace(_):
                raise LookupError("injected")

            return dataclasses.replace(part, replace=replace)
        return part

    def before(*_, **__):
        raise LookupError("injected")

    def after(*args, **kwargs):
        part.around(*args, **kwargs)
        yield
        raise LookupError("injected")

    return dataclasses.replace(part, around=before if kind == "before" else after)


def paths():
    return [
        part.path for seam in _steps.StepHooks(torch, None, None).seams() for part in seam.parts
    ]


@pytest.fixture(name="expected", scope="module")
def run_plain():
    return train()


def test_steps_are_reported_and_nothing_else_changes(hooks, expected, capsys):
    reported = Reported()
    made = hooks(reported)
    assert train() == expected
    assert reported.calls.count("end") == STEPS and reported.calls[0] == "begin"
    assert [seam.state for seam in made._seams if seam.state != APPLIED] == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("path", paths())
def test_a_part_that_fails(hooks, expected, path, kind, capsys):
    reported = Reported()
    parts = {part.path: part for seam in _steps.StepHooks(torch, None, None).seams()
             for part in seam.parts}  # fmt: skip
    if parts[path].replace is not None and kind == "after":
        pytest.skip("what it gives is guarded: see the next test")
    own = _steps.StepHooks(torch, reported.note("begin"), reported.note("end"))
    (part,) = [part for seam in own.seams() for part in seam.parts if part.path == path]
    made = hooks(reported, **{path: failing(part, kind)})
    assert train() == expected
    if path != "_worker_loop":  # called in workers
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and "injected" in lines[0]
        assert [seam.state for seam in made._seams].count(FAILED) == 1
    if path != "Optimizer.profile_hook_step":
        assert reported.calls.count("end") == STEPS


@pytest.mark.parametrize("callback", ["begin", "end"])
def test_a_callback_that_fails(hooks, expected, callback, capsys):
    def fail(*_):
        raise LookupError("injected")

    made = hooks(Reported(), **{callback: fail})
    assert train() == expected
    assert capsys.readouterr().err.count("\n") == 1 and made._steps.state == FAILED


def test_groups_that_are_kept_otherwise(monkeypatch):
    """Where torch keeps its groups is private: the step that looks there goes on."""
    distributed = pytest.importorskip("torch.distributed.distributed_c10d")
    monkeypatch.setattr(_metadata, "_distributed", lambda: distributed)
    monkeypatch.setattr(_metadata, "_groups_failed", False)
    monkeypatch.setattr(distributed, "_world", object())
    _metadata.note_groups()
    _metadata.note_groups()
    assert _metadata._groups_failed


def test_a_torch_without_frame_evaluation():
    class Without:
        class _C:
            pass

    assert _dynamo.frame_evaluation(Without)(None) is None
    assert _dynamo.frame_evaluation(torch) is torch._C._dynamo.eval_frame.set_eval_frame
