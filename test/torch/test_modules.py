"""Module ranges: names, nesting, exceptions, and torch.compile with fullgraph=True."""

import gc
import subprocess
import sys
import threading
import time

import harness
import pytest
import torch
from capture_reader import MODULE, OP


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, *, scale=1.0):
        return torch.relu(self.linear(x)) * scale


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, scale=0.5)
        return self.head(x)


EXPECTED = ["layers.0.linear", "layers.0", "layers.1.linear", "layers.1", "head", "Net"]


def names(session):
    return [record.name for record in session.capture.of(MODULE)]


def test_names_and_classes():
    net = Net()
    with harness.record(harness.MODULES) as session:
        net(torch.ones(3, 4))
        net(torch.ones(3, 4))
    assert names(session) == EXPECTED * 2
    classes = {record.name: record.args["class"] for record in session.capture.of(MODULE)}
    assert (
        classes["layers.0"] == "Block" and classes["head"] == "Linear" and classes["Net"] == "Net"
    )
    domains = {session.capture.domains[record.domain] for record in session.capture.of(MODULE)}
    assert domains == {"Module"}


def test_operators_lie_inside():
    net = Net()
    with harness.record(harness.MODULES | harness.OPS) as session:
        net(torch.ones(3, 4))
    root = session.capture.named("Net")[0]
    linears = [r for r in session.capture.of(OP) if r.name == "aten::linear"]
    assert len(linears) == 3
    assert all(root.ticks <= r.ticks and r.end <= root.end for r in linears)


def test_results_and_attributes_are_those_of_torch():
    net = Net()
    expected = net(torch.ones(3, 4))
    call = torch.nn.Module.__call__
    with harness.record(harness.MODULES):
        assert torch.equal(net(torch.ones(3, 4)), expected)
        assert torch.equal(net.__call__(torch.ones(3, 4)), expected)
        assert torch.equal(torch.nn.Module.__call__(net, torch.ones(3, 4)), expected)
        assert torch.nn.Module.__call__.__name__ == call.__name__
        assert torch.nn.Module.__call__ is not call
    assert torch.nn.Module.__call__ is call


def test_hooks_run_and_exceptions_pass():
    class Bad(torch.nn.Module):
        def forward(self, x):
            raise KeyError("from forward")

    net = Net()
    seen = []
    net.head.register_forward_hook(lambda module, args, result: seen.append(module))
    with harness.record(harness.MODULES) as session:
        with pytest.raises(KeyError, match="from forward"):
            torch.nn.Sequential(torch.nn.Identity(), Bad())(torch.ones(1))
        net(torch.ones(3, 4))
    assert seen == [net.head]
    assert names(session) == ["0", "1", "Sequential"] + EXPECTED
    assert all(record.dur < 1 << 40 for record in session.capture.of(MODULE))


def test_modules_added_later_and_outside_the_tree():
    net = Net()
    with harness.record(harness.MODULES) as session:
        net(torch.ones(3, 4))
        net.layers.append(Block())
        net(torch.ones(3, 4))
        net.layers.append(Hidden([Block()]))
        net(torch.ones(3, 4))
    assert "layers.2.linear" in names(session)
    assert names(session).count("Block") == 1


class Hidden(torch.nn.Module):
    """Holds a module in a plain list, where named_modules() does not find it."""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = tuple(hidden)

    def forward(self, x, *, scale=1.0):
        return self.hidden[0](x)


def test_addresses_that_are_used_again():
    """A name must not outlive its module."""
    with harness.record(harness.MODULES) as session:
        for i in range(300):
            model = torch.nn.Sequential(torch.nn.Identity())
            if i % 2:
                model = torch.nn.ModuleDict({f"m{i}": model})[f"m{i}"]
            model(torch.ones(1))
            del model
            if i % 50 == 0:
                gc.collect()
    assert set(names(session)) == {"0", "Sequential"}


class MakesModules(torch.nn.Module):
    """Makes modules in forward(); counts the walks of its tree."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.walks = 0

    def named_modules(self, *args, **kwargs):
        self.walks += 1
        time.sleep(0.002)  # as a large model's takes
        return super().named_modules(*args, **kwargs)

    def forward(self, x):
        for _ in range(5):
            x = torch.nn.Softmax(dim=-1)(x)
        if hasattr(self, "added"):
            x = self.added(x)
        return self.linear(x)


def test_modules_made_in_forward_cost_few_walks():
    net = MakesModules()
    with harness.record(harness.MODULES) as session:
        begin = time.monotonic()
        for _ in range(40):
            net(torch.ones(3, 4))
        taken = time.monotonic() - begin
    assert net.walks * 0.002 < 0.006 + taken * 0.05
    assert names(session) == (["Softmax"] * 5 + ["linear", "MakesModules"]) * 40


def test_modules_added_beside_those_made_in_forward():
    """Met while walks pause: named by class first, then by path."""
    net = MakesModules()
    with harness.record(harness.MODULES) as session:
        net(torch.ones(3, 4))
        net.added = Block()
        walks, end = net.walks, time.monotonic() + 120
        net(torch.ones(3, 4))
        while net.walks == walks and time.monotonic() < end:
            time.sleep(0.02)
            net(torch.ones(3, 4))
        net(torch.ones(3, 4))
    found = [name for name in names(session) if name in ("Block", "added")]
    assert found[-1] == "added"
    assert found == sorted(found)  # and never back to the class
    assert names(session).count("added.linear") == found.count("added")


def test_registered_names():
    block = Block()
    address = id(block)
    import ctypes

    call = harness.adapter.sonde_torch_register_module
    call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    assert call(address, b"decoder.3.mlp", None) == 0
    with harness.record(harness.MODULES) as session:
        block(torch.ones(2, 4))
    assert names(session)[-1] == "decoder.3.mlp"


def test_threads():
    net = Net()

    def work():
        for _ in range(20):
            net(torch.ones(3, 4))

    with harness.record(harness.MODULES) as session:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert names(session).count("Net") == 60
    assert set(names(session)) == set(EXPECTED)


def test_fullgraph_compile_before_during_and_after():
    torch._dynamo.reset()
    net = Net()
    expected = net(torch.ones(3, 4))
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    with harness.record(harness.MODULES) as session:
        torch.testing.assert_close(compiled(torch.ones(3, 4)), expected)
        torch._dynamo.reset()
        net(torch.ones(3, 4))
        again = torch.compile(Net(), backend="eager", fullgraph=True)
        again(torch.ones(3, 4))
    assert names(session).count("layers.0.linear") == 1
    # Compiled before a session: neither recompiled nor broken by the next one.
    compiled(torch.ones(3, 4))
    torch._dynamo.utils.counters.clear()
    with harness.record(harness.MODULES):
        torch.testing.assert_close(compiled(torch.ones(3, 4)), expected)
    assert torch._dynamo.utils.counters["stats"].get("unique_graphs", 0) == 0
    assert not torch._dynamo.utils.counters["graph_break"]


def test_dynamo_imported_during_a_session():
    """In a fresh process torch._dynamo is not loaded when the adapter attaches."""
    program = f"""
import sys
sys.path.insert(0, {str(harness.ROOT / "test" / "torch")!r})
import harness, torch
harness.attach()
assert "torch._dynamo" not in sys.modules
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
with harness.record(harness.MODULES) as session:
    net(torch.ones(1, 2))
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    compiled(torch.ones(1, 2))
    net(torch.ones(1, 2))
names = [record.name for record in session.capture.records]
assert names.count("0") == 2, names
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_classes_with_a_call_of_their_own_are_named():
    class Aside(torch.nn.Module):
        def __call__(self, x):
            return x + 1

    class PassesOn(torch.nn.Module):
        def __call__(self, x):
            return super().__call__(x)

        def forward(self, x):
            return x

    net = torch.nn.Sequential(torch.nn.Identity(), Aside(), PassesOn(), Aside())
    with harness.record(harness.MODULES | harness.OPS) as session:
        net(torch.ones(2))
    ranges = [record.args["class"] for record in session.capture.of(MODULE)]
    assert sorted(ranges) == ["Identity", "PassesOn", "Sequential"]
    # Issues stay for later captures of the process: earlier tests may have named other classes.
    named = [issue.split()[2] for issue in session.capture.issues if "of its own" in issue]
    assert {name: named.count(name) for name in ("Aside", "PassesOn", "Sequential")} == {
        "Aside": 1,
        "PassesOn": 1,
        "Sequential": 0,
    }
