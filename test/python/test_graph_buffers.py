"""Which value of the program a buffer of generated code holds, and how generated code shows it."""

import types
from types import SimpleNamespace

from sonde.torch import _graph_buffers
from sonde.torch._graph_nodes import NodeFacts
from sonde.torch.precision._graph_twin import twin_of


def values(held, dynamo, images):
    """``images``: nodes of Inductor's graph by those of Dynamo that they come of."""
    joined = {}
    for name, found in images.items():
        for image in found:
            joined.setdefault(image, []).append(name)
    facts = {name: NodeFacts(operator) for name, operator in dynamo.items()}
    mapping = {"preToPost": images, "postToPre": joined}
    return _graph_buffers.values_of(held, facts, mapping)


def test_a_value_is_the_last_node_that_was_made_of_it():
    held = {"permute": "", "mm": "buf0", "sigmoid": "", "mul": "buf1", "add": ""}
    dynamo = {"linear": "linear", "silu": "silu", "add": "add"}
    images = {"linear": ["mm", "permute"], "silu": ["mul", "sigmoid"], "add": ["add"]}
    assert values(held, dynamo, images) == {"linear": "buf0", "silu": "buf1"}


def test_a_product_that_was_joined_with_a_sum_is_the_sum():
    held, dynamo = {"addmm": "buf0"}, {"linear": "linear", "add": "add"}
    assert values(held, dynamo, {"linear": ["addmm"], "add": ["addmm"]}) == {"add": "buf0"}
    dynamo = {"linear": "linear", "view": "view"}
    found = values(held, dynamo, {"linear": ["addmm"], "view": ["addmm"]})
    assert found == {"linear": "buf0", "view": "buf0"}, "the same elements"


def test_a_product_that_is_written_in_place_is_still_known():
    """Whoever reads what was written belongs to its node, too, but is not computed by it."""
    held = {"mm": "buf0", "sum_default": "", "mm_1": "buf3"}
    dynamo = {"rows": "linear", "sum_": "sum_", "rows_1": "linear"}
    images = {"rows": ["mm"], "sum_": ["mm", "sum_default"], "rows_1": ["mm", "mm_1"]}
    assert values(held, dynamo, images) == {"rows": "buf0", "rows_1": "buf3"}
    held, images = {"addmm": "buf0", "relu": ""}, {"rows": ["addmm"], "rows_1": ["addmm", "relu"]}
    assert values(held, dynamo, images) == {}, "a part of the second may be joined into it"


def test_memory_that_others_fill_holds_what_they_write():
    held, dynamo = {"empty": "buf0", "product": ""}, {"out": "empty", "product": "product"}
    found = values(held, dynamo, {"out": ["empty"], "product": ["product", "empty"]})
    assert found == {"out": "buf0"}


def test_views_hold_what_they_are_of():
    def node(name, operator, *args):
        packet = SimpleNamespace(overloadpacket=SimpleNamespace(__name__=operator), tags=())
        return SimpleNamespace(name=name, target=packet, args=args)

    product = node("mm", "mm")
    graph = SimpleNamespace(nodes=[product, node("view", "view", product),
                                   node("permute", "permute", product)])  # fmt: skip
    buffer = SimpleNamespace(get_origin_node=lambda: product)
    lowering = SimpleNamespace(name_to_buffer={"buf0": buffer})
    held = _graph_buffers.held_by(lowering, graph)
    assert held == {"mm": "buf0", "view": "buf0", "permute": ""}


GENERATED = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{
}
''')

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def call(self, args):
        arg0_1, = args
        args.clear()
        buf0 = empty(1)
        cpp_fused_add_0(arg0_1, buf0)
        buf1 = buf0; del buf0  # reuse
        extern_kernels.mm(buf1, arg0_1, out=buf1)
        buf2 = torch.ops.aten.sort.default(buf1)
        buf3 = buf2[0]
        buf4 = reinterpret_tensor(buf3, (1, ))
        return (buf4, )

runner = Runner(partitions=[])
call = runner.call
"""


def sort(value):
    return [[*value, "sorted"]]


sort._schema = SimpleNamespace(arguments=[SimpleNamespace(alias_info=None)])  # writes to nothing


def generated():
    """The module, whose kernels append to lists."""
    aten = SimpleNamespace(sort=SimpleNamespace(default=sort))
    scope = {
        "__file__": "/cache/ab.py",
        "empty": lambda _: [],
        "reinterpret_tensor": lambda value, _: value,
        "async_compile": SimpleNamespace(cpp_pybinding=lambda *_: lambda a, out: out.append("sum")),
        "extern_kernels": SimpleNamespace(mm=lambda a, b, out: out.append("product")),
        "torch": SimpleNamespace(ops=SimpleNamespace(aten=aten)),
    }
    exec(compile(GENERATED, "/cache/ab.py", "exec"), scope)
    return scope["call"], scope


def test_generated_code_shows_each_buffer_behind_the_call_that_writes_it():
    call, scope = generated()
    seen = []
    wanted = {"buf0", "buf1", "buf3"}
    twin = twin_of(GENERATED, call, wanted, lambda name, value, _: seen.append((name, [*value])))
    assert twin([1]) == call([1]) == (["sum", "product", "sorted"],)
    assert seen == [("buf0", ["sum"]), ("buf1", ["sum", "product"]),
                    ("buf3", ["sum", "product", "sorted"])]  # fmt: skip
    assert scope["call"] is call and isinstance(twin, types.MethodType)
    assert twin.__code__.co_firstlineno == call.__code__.co_firstlineno


SUMMED = """
def call(args):
    buf0, = args
    extern_kernels.mm(buf0, buf0, out=buf0)
    torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')
    torch.ops._c10d_functional.wait_tensor.default(buf0)
    return (buf0, )
"""


def test_generated_code_shows_who_wrote_a_buffer():
    """What a collective writes is there behind the wait, which by its schema writes nothing."""

    def operator(writes, function):
        info = SimpleNamespace(is_write=True) if writes else None
        function._schema = SimpleNamespace(arguments=[SimpleNamespace(alias_info=info)])
        return SimpleNamespace(default=function)

    operators = SimpleNamespace(
        all_reduce_=operator(True, lambda *_: None),
        wait_tensor=operator(False, lambda value: value.append("sum")),
    )
    scope = {
        "__file__": "/cache/ab.py",
        "extern_kernels": SimpleNamespace(mm=lambda a, b, out: out.append("product")),
        "torch": SimpleNamespace(ops=SimpleNamespace(_c10d_functional=operators)),
    }
    exec(compile(SUMMED, "/cache/ab.py", "exec"), scope)
    seen = []
    twin = twin_of(SUMMED, scope["call"], {"buf0"}, lambda *found: seen.append(repr(found)))
    twin([[]])
    assert seen == ["('buf0', ['product'], '')", "('buf0', ['product'], 'all_reduce_')",
                    "('buf0', ['product', 'sum'], 'wait_tensor')"]  # fmt: skip
