"""The check of generated kernels: what is rounding, and a fault that the compiler itself plants."""

import csv
import json
import os
import subprocess
import sys

import pytest
from conftest import BUILD

torch = pytest.importorskip("torch")

from sonde.torch.compile_check import _graph_text, _graphs, _reference, _watch  # noqa: E402

PROGRAM = """
import sys
import torch
import torch._inductor.config as config

if {bug!r}:
    config.cpp.inject_relu_bug_TESTING_ONLY = {bug!r}

class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 64), torch.nn.Linear(64, 16)

    def forward(self, x):
        y = torch.relu(self.up(x)) * 2
        return x + self.down(y).softmax(-1)

torch.manual_seed(0)
model = torch.nn.Sequential(Part(), Part())
with torch.no_grad():
    print("sum", torch.compile(model)(torch.randn(8, 16)).sum().item())
"""


def checked(sonde_run, tmp_path, bug):
    (tmp_path / "check.json").write_text(
        json.dumps({"task": "compile_check", "dump_path": str(tmp_path / "checked")})
    )
    done = sonde_run(
        PROGRAM.format(bug=bug), "--dump-config", "check.json",
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"), XDG_CACHE_HOME=str(tmp_path / "home"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "checked").glob("compile_check_*.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return done.stderr.splitlines()[-1], rows


def test_a_planted_fault_is_found_with_its_module(sonde_run, tmp_path):
    line, rows = checked(sonde_run, tmp_path, "accuracy")
    wrong = [row for row in rows if row["result"] == "differs"]
    assert {row["module"] for row in wrong} == {"0", "1"}
    assert all("relu" in row["kernel"] and "program.py(1" in row["lines"] for row in wrong)
    assert all(float(row["error"]) > float(row["explained"]) for row in wrong)
    right = [row for row in rows if row["result"] == "agrees"]
    assert right and not any("relu" in row["kernel"] for row in right)
    assert "2 differ: cpp_fused_" in line


def values(*numbers, dtype=torch.float32):
    return torch.tensor(numbers, dtype=dtype)


def judged(value, eager, wide=None):
    wide = eager.double() if wide is None else wide
    return _reference.judge(torch, value, eager, wide).differing


def test_rounding_is_no_difference():
    exact = torch.randn(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        rounded = exact.to(dtype)
        twice = (rounded.float() * (1 + torch.finfo(dtype).eps)).to(dtype)
        assert judged(twice, rounded, exact) == 0
        assert judged(rounded + values(0.1).to(dtype), rounded, exact) > 900


def test_one_wrong_element_is_a_difference():
    value = torch.ones(64)
    wrong = value.clone()
    wrong[63] = 0.5
    assert judged(wrong, value) == 1
    assert judged(values(1, 2).long(), values(1, 3).long()) == 1
    assert judged(values(True, False, dtype=torch.bool), values(True, True, dtype=torch.bool)) == 1


def test_nan_and_infinity():
    nan, inf = float("nan"), float("inf")
    assert judged(values(nan, inf, 1), values(nan, inf, 1)) == 0
    assert judged(values(nan, 1), values(1, 1)) == 1
    assert judged(values(inf, 1), values(1, 1)) == 1


def test_values_are_computed_from_what_the_kernel_reads():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.ops.aten.sin.default, (x,))
    z = graph.call_function(torch.ops.aten.mul.Tensor, (y, 2))
    noise = graph.call_function(torch.ops.aten.rand_like.default, (z,))
    known = {x.name: values(1, 2)}
    torch.testing.assert_close(
        _reference.Evaluation(known, wide=False).of(z), values(1, 2).sin() * 2
    )
    assert _reference.Evaluation(known, wide=True).of(z).dtype == torch.float64
    with pytest.raises(_reference.Unknown, match="does not read"):
        _reference.Evaluation({}, wide=False).of(z)
    with pytest.raises(_reference.Unknown, match="random"):
        _reference.Evaluation(known, wide=False).of(noise)


def test_a_buffer_that_nobody_has_written_has_no_content():
    lines = """
        buf0 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        cpp_fused_0(arg0_1, buf0)
        buf1 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        buf2 = buf1; del buf1  # reuse
        assert_size_stride(buf2, (4, 8), (8, 1))
        cpp_fused_1(buf2, buf0)
        buf3 = reinterpret_tensor(buf2, (32, ), (1, ), 0); del buf2  # reuse
        cpp_fused_2(buf3, arg0_1)
    """.split("\n")
    graph = _graphs.CheckedGraph({}, {}, {}, lines)
    assert graph.before("buf2", 7) is None
    assert graph.before("buf0", 7) == "buf0"
    assert graph.before("buf3", 9) == "buf2"
    assert graph.before("arg0_1", 9) == "arg0_1"


GRAPH = """
class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 2][2, 1]cpu", arg1_1: "f32[2][1]cpu"):
        # File: /home/me/model.py:12 in forward, code: return torch.sin(x + y)
        add: "f32[4, 2][2, 1]cpu" = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg0_1 = None
        full: "f32[2]" = torch.ops.aten.full.default([2], -inf, dtype = torch.float32)

        # No stacktrace found for following nodes
        split = torch.ops.aten.split.Tensor(add, 2)
        getitem: "f32[2, 2][2, 1]cpu" = split[0];  split = None
        return (getitem, full)
"""


def test_a_graph_is_made_again_from_its_text():
    made = _graph_text.graph_module(torch, GRAPH)
    nodes = {node.name: node for node in made.graph.nodes}
    assert list(nodes) == ["arg0_1", "arg1_1", "add", "full", "split", "getitem", "output"]
    assert "model.py" in nodes["add"].meta["stack_trace"]
    assert nodes["split"].meta["stack_trace"] == ""
    x, y = torch.randn(4, 2), torch.randn(2)
    part, full = made(x, y)
    torch.testing.assert_close(part, (x + y)[:2])
    assert full.tolist() == [float("-inf")] * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [("x = self._tensor_constant0", "a constant, which is not kept"),
     ("x = torch.ops.aten.nosuch.default(arg0_1)", "torch has no torch.ops.aten.nosuch"),
     ("x = torch.ops.aten.sin.default(unknown)", "unknown of the graph is not known"),
     ("x = (", "the text of the graph cannot be read")],
)  # fmt: skip
def test_what_cannot_be_made_again_has_a_reason(line, reason):
    text = f"class <lambda>(torch.nn.Module):\n    def forward(self, arg0_1):\n        {line}\n"
    with pytest.raises(_graph_text.NotRead, match=reason):
        _graph_text.graph_module(torch, text)


def offline(folder, tmp_path, *words):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    command = [BUILD / "bin" / "sonde", "probe", "compile_check", folder, "-o", tmp_path / "out"]
    return subprocess.run(
        [*command, "--python", sys.executable, *words], capture_output=True, text=True,
        timeout=300, check=False, env={**environment, "SONDE_HOME": str(BUILD)},
    )  # fmt: skip


def test_a_folder_without_graphs_gets_one_line(tmp_path):
    assert "is no folder" in offline(tmp_path / "none", tmp_path).stderr
    (tmp_path / "empty" / "fxgraph" / "ab" / "cd").mkdir(parents=True)
    done = offline(tmp_path / "empty", tmp_path)
    assert done.returncode == 1 and "holds no graph" in done.stderr
    (tmp_path / "empty" / "fxgraph" / "ab" / "cd" / "ef").write_bytes(b"cut")
    done = offline(tmp_path / "empty", tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "none of 1 graphs could be checked; 1 of them: the file cannot be read" in done.stderr


@pytest.mark.skipif(os.environ.get("SONDE_THOROUGH") != "1", reason="compiles: SONDE_THOROUGH=1")
@pytest.mark.parametrize(("bug", "status"), [("accuracy", 3), (None, 0)])
def test_code_of_a_folder_is_checked_without_its_program(tmp_path, bug, status):
    (tmp_path / "program.py").write_text(PROGRAM.format(bug=bug))
    subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, check=True, timeout=300,
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    before = sorted(path.name for path in (tmp_path / "cache").rglob("*"))
    done = offline(tmp_path / "cache", tmp_path, "--fail-if", "differs")
    assert done.returncode == status, done.stderr
    assert "graphs      1, 1 of them checked" in done.stdout
    assert "random, of the sizes" in done.stdout
    (path,) = (tmp_path / "out").glob("compile_check_*.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = {row["kernel"] for row in rows if row["result"] == "differs"}
    assert all("relu" in kernel for kernel in wrong) and bool(wrong) == bool(bug)
    assert any(row["result"] == "agrees" for row in rows)
    assert all("program.py(" in row["lines"] for row in rows if row["result"] == "differs")
    assert before == sorted(path.name for path in (tmp_path / "cache").rglob("*")), "it only reads"


def test_arguments_of_a_call():
    line = "        cpp_fused_0(buf0, reinterpret_tensor(buf1, (2, 3), (3, 1), 0), s72, (4, 5))"
    assert _watch.arguments_in(line) == [
        "buf0", "reinterpret_tensor(buf1, (2, 3), (3, 1), 0)", "s72", "(4, 5)",
    ]  # fmt: skip
