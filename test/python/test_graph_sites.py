"""Calls of kernels in generated modules, and which of the nodes that they compute owns each."""

import sys
from types import SimpleNamespace

from sonde.torch import _graph_nodes, _graph_sites, _graph_work
from sonde.torch._graph_nodes import NodeFacts

GENERATED = """
import torch
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*'], r'''
    kernel(in_ptr0); extern_kernels.no(call)
''')
async_compile.wait(globals())

class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        buf0 = empty_strided_cpu((2, 4), (4, 1), torch.float32)
        # [Provenance debug handles] cpp_fused_add_0:1
        cpp_fused_add_0(arg0_1, buf0)
        # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.t, aten.mm]
        # [Provenance debug handles] extern_kernels.mm:2
        extern_kernels.mm(buf0, reinterpret_tensor(arg1_1, (4, 4), (1, 4), 0), out=buf0)
        buf2 = torch.ops.aten.sort.default(buf0)
        with torch.cuda._DeviceGuard(0):
            triton_poi_fused_mul_1.run(buf2, 8, stream=stream0)
        return (buf0, )

def get_args():
    extern_kernels.mm(1, 2)
"""


def facts(name, *path, line=1):
    modules = tuple((".".join(path[:end]), f"Class{end}") for end in range(len(path) + 1))
    return NodeFacts(name, modules if path else (), (("model.py", line, "forward"),), "float32[2]")


def test_calls_are_known_by_their_lines():
    calls = _graph_sites.calls_in(GENERATED)
    assert [(call.kernel, call.handle) for call in calls] == [
        ("cpp_fused_add_0", "cpp_fused_add_0:1"),
        ("extern_kernels.mm", "extern_kernels.mm:2"),
        ("torch.ops.aten.sort.default", ""),
        ("triton_poi_fused_mul_1", ""),
    ]
    lines = GENERATED.split("\n")
    assert all(call.kernel in lines[call.line - 1] for call in calls)
    assert (calls[1].nodes, calls[1].operators) == (["linear", "relu"], ["aten.t", "aten.mm"])


def table(post, dynamo, mapping):
    return _graph_sites.table_of(GENERATED, _graph_sites.Sources(post, dynamo, mapping))


def owner(made, place):
    site = list(made["sites"].values())[place]
    return made["modules"][site["module"]][0], [made["modules"][n][0] for n in site["also"]]


def test_the_value_that_is_stored_last_decides():
    post = {"add": facts("aten.add", "layers", "0"), "mul": facts("aten.mul", "layers", "1"),
            "mm_1": facts("aten.mm", "head", line=9)}  # fmt: skip
    mapping = {"cppCodeToPost": {"cpp_fused_add_0:1": ["mul", "mm_1", "add"],
                                 "extern_kernels.mm:2": ["mm_1", "add"]}}  # fmt: skip
    made = table(post, {}, mapping)
    assert owner(made, 0) == ("layers.1", ["layers.0"])
    assert owner(made, 1) == ("head", ["layers.0"]), "a kernel of one node comes from that"
    assert made["modules"][0] == ["", "Class0", -1]
    site = made["sites"][str(_graph_sites.calls_in(GENERATED)[1].line)]
    assert [made["frames"][n] for n in site["frames"]] == [["model.py", 9, "forward"]]
    assert _graph_sites.share_with_module(made) == 0.5
    assert owner(made, 2) == ("head", []) and list(made["sites"].values())[2]["by"]


def test_nodes_of_a_cached_graph_are_those_that_dynamo_traced():
    dynamo = {"linear": facts("linear", "head", line=3), "relu": facts("relu")}
    mapping = {"cppCodeToPost": {"cpp_fused_add_0:1": ["add"]}, "postToPre": {"add": ["linear"]}}
    made = table({}, dynamo, mapping)
    assert owner(made, 0) == ("head", [])
    assert owner(made, 1) == ("head", []), "by the nodes in the remark above it"
    assert list(made["sites"].values())[2]["operators"] == []


def test_a_node_that_the_compiler_joined_is_that_of_the_comment_above_its_call():
    dynamo = {"linear": facts("linear", "head", line=3)}
    mapping = {"cppCodeToPost": {"extern_kernels.mm:2": ["addmm"]}}
    made = table({"addmm": facts("aten.addmm")}, dynamo, mapping)
    assert owner(made, 1) == ("head", [])
    assert list(made["sites"].values())[1]["operators"] == ["aten.addmm"]


def test_a_kernel_between_those_of_two_layers_is_the_roots():
    inner = {"add": NodeFacts("aten.add", (("layers.0", "Layer"),)),
             "sort": NodeFacts("aten.sort", (("layers.1", "Layer"),))}  # fmt: skip
    text = GENERATED.replace("linear, relu", "")
    handle = "        # [Provenance debug handles] sort:3\n        buf2 = torch"
    mapping = {"cppCodeToPost": {"cpp_fused_add_0:1": ["add"], "sort:3": ["sort"]}}
    sources = _graph_sites.Sources(inner, {}, mapping)
    made = _graph_sites.table_of(text.replace("        buf2 = torch", handle), sources)
    assert "module" not in list(made["sites"].values())[1]
    assert owner(_graph_sites.with_root(made, "Net"), 1) == ("", [])


def test_paths_of_modules():
    path = _graph_nodes.module_path
    assert path("L['self']") == ""
    assert path("L['self'].layers.0.mlp") == "layers.0.mlp"
    assert path("L['model']._modules['layers']._modules['1'].attn") == "layers.1.attn"
    assert path("L['self'].layers.slice(None, 2, None)[0].mlp") == "layers.0.mlp"
    assert path("L['self']._orig_mod.norm") == "norm"
    assert path("G['__import_x'].head") == "head"


def test_backward_has_the_modules_of_its_forward():
    meta = {"fwd_nn_module_stack": {"1": ("L['self'].head", "torch.nn.Linear")},
            "nn_module_stack": {"1": ("L['self'].other", int)},
            "stack_trace": 'File "a.py", line 1, in f\n  x\nFile "b.py", line 2, in g'}  # fmt: skip
    node = SimpleNamespace(meta=meta, target="relu", name="relu", stack_trace=None)
    found = _graph_nodes.facts_of(node)
    assert found.modules == (("head", "Linear"),)
    assert found.frames == (("b.py", 2, "g"), ("a.py", 1, "f"))
    assert (found.operator, found.shape) == ("relu", "")


def test_lines_of_torchs_own_functions_are_those_of_their_callers(monkeypatch):
    """A function of torch that is written in Python is no place that a user can change."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__="/site/torch/__init__.py"))
    lines = 'File "a.py", line 1, in f\n  x\nFile "/site/torch/nn/functional.py", line 2, in pad'
    node = SimpleNamespace(meta={"stack_trace": lines}, target="pad", stack_trace=None)
    assert _graph_nodes.facts_of(node).frames == (("a.py", 1, "f"),)
    node.meta["stack_trace"] = lines.split("\n  x\n")[1]
    assert _graph_nodes.facts_of(node).frames == (("/site/torch/nn/functional.py", 2, "pad"),)


def test_bytes_are_of_the_call_that_writes_the_buffer():
    """buf2 is read by the kernel behind the sort, which is unknown here."""
    work = _graph_work.Work([(frozenset({"buf0"}), 64), (frozenset({"buf2"}), 8)])
    calls = _graph_sites.calls_in(GENERATED)
    moved = work.bytes_of((call.line, call.text) for call in calls)
    assert moved == {calls[0].line: 64, calls[2].line: 8}


def test_operations_are_known_where_those_of_all_nodes_are():
    work = _graph_work.Work(flops={"mm": 256, "view": 0})
    assert work.flops_of(["view", "mm"]) == 256
    assert work.flops_of(["mm", "custom"]) is None and work.flops_of([]) is None
