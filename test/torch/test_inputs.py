"""Shapes and types of operator inputs, and tensors whose sizes must not be asked for."""

import harness
import pytest
import torch

DTYPES = {torch.float32: 6, torch.int64: 4, torch.bfloat16: 15, torch.float64: 7, torch.bool: 11}


def inputs_of(session, name, index=0):
    return session.capture.named(name)[index].args["inputs"]


def test_shapes_and_types():
    with harness.record(harness.OPS | harness.SHAPES) as session:
        torch.addmm(torch.ones(7), torch.ones(3, 5), torch.ones(5, 7))
        for dtype in DTYPES:
            torch.ones(2, 1, 3, 1, 1, 4, 2, dtype=dtype).clone()
        torch.ones(()).clone()
    assert inputs_of(session, "aten::addmm") == [
        (6, [7]),
        (6, [3, 5]),
        (6, [5, 7]),
        "int",
        "int",
    ]
    clones = session.capture.named("aten::clone")
    for record, code in zip(clones, DTYPES.values()):
        assert record.args["inputs"][0] == (code, [2, 1, 3, 1, 1, 4, 2])
    assert clones[-1].args["inputs"][0] == (6, [])


def test_lists_options_and_missing_tensors():
    with harness.record(harness.OPS | harness.SHAPES) as session:
        torch.cat([torch.ones(2, 3), torch.ones(4, 3)])
        torch.sum(torch.ones(4), [0], True)
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
        with torch.profiler.record_function("scope", "text"):
            pass
    assert inputs_of(session, "aten::cat") == [[(6, [2, 3]), (6, [4, 3])], "int"]
    assert inputs_of(session, "aten::sum") == [(6, [4]), "list", "bool", None]
    assert inputs_of(session, "aten::linear") == [(6, [2, 3]), (6, [4, 3]), None]
    assert inputs_of(session, "scope")[0] == "string"


def test_long_lists_lose_their_tensors_not_the_operator():
    tensors = [torch.ones(2, 3, 4) for _ in range(200)]
    with harness.record(harness.OPS | harness.SHAPES) as session:
        torch.cat(tensors)
    assert inputs_of(session, "aten::cat") == ["other", "int"]


def test_same_shapes_share_one_set():
    with harness.record(harness.OPS | harness.SHAPES) as session:
        for _ in range(3000):
            torch.ones(3).add(1)
    adds = session.capture.named("aten::add")
    assert len(adds) == 3000
    assert all(record.args["inputs"] == adds[0].args["inputs"] for record in adds)


def test_no_shapes_without_the_switch():
    with harness.record(harness.OPS) as session:
        torch.ones(3).add(1)
    assert session.capture.records
    assert all(record.args == {} for record in session.capture.records)


class Wrapper(torch.Tensor):
    """A subclass whose every operation, the question for its sizes included, runs Python."""

    calls = 0

    @staticmethod
    def __new__(cls, inner):
        options = {"dispatch_sizes_strides_policy": "sizes"}
        self = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, **options)
        self.inner = inner
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls += 1
        if func is torch.ops.aten.sym_size.default:
            return args[0].inner.shape
        unwrap = [a.inner if isinstance(a, Wrapper) else a for a in args]
        return func(*unwrap, **(kwargs or {}))


def test_subclasses_are_not_asked():
    x = Wrapper(torch.ones(3, 4))
    Wrapper.calls = 0
    torch.neg(x)
    plain_calls = Wrapper.calls
    Wrapper.calls = 0
    with harness.record(harness.OPS | harness.SHAPES) as session:
        torch.neg(x)
    assert Wrapper.calls == plain_calls
    seen = [record.args["inputs"][0] for record in session.capture.named("aten::neg")]
    assert sorted(seen, key=str) == [("opaque", 6), (6, [3, 4])]


def test_strange_tensors(capfd):
    from torch._subclasses.fake_tensor import FakeTensorMode

    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(5, 6))
    sparse = torch.ones(3, 4).to_sparse()
    meta = torch.ones(3, 4, device="meta")
    quantized = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)
    complex_view = torch.ones(4, dtype=torch.complex64).conj()
    capfd.readouterr()
    with harness.record(harness.OPS | harness.SHAPES) as session:
        for tensor in (nested, fake, sparse, meta, quantized, complex_view):
            torch.clone(tensor)
        torch.vmap(lambda t: t * 2)(torch.ones(3, 4))
        torch.func.grad(lambda t: (t * t).sum())(torch.ones(3))
    assert "rror" not in capfd.readouterr().err
    firsts = [record.args["inputs"][0] for record in session.capture.named("aten::clone")]
    assert ("opaque", 6) in firsts
    assert (6, [3, 4]) in firsts
    assert (13, [4]) in firsts
    assert (9, [4]) in firsts


@pytest.mark.parametrize("dynamic", [False, True])
def test_shapes_while_dynamo_compiles(dynamic):
    torch._dynamo.reset()

    def work(x):
        return torch.nn.functional.gelu(x @ x.t()).sum(0)

    compiled = torch.compile(work, backend="aot_eager", dynamic=dynamic, fullgraph=True)
    with harness.record(harness.OPS | harness.SHAPES) as session:
        for size in (3, 4, 5):
            torch.testing.assert_close(compiled(torch.ones(size, 2)), work(torch.ones(size, 2)))
    assert len(session.capture.records) > 50
