"""Programs under ``torch.compile``: modules, lines, work and compilations of their kernels."""

import os
import subprocess
import sys

import pytest
from conftest import query

PROGRAM = """
import torch

class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

torch.manual_seed(0)
torch.set_num_threads(1)
model = Net()
{compile}
for _ in range(2):
    loss = compiled(torch.ones(4, 16)).square().mean()
    loss.backward()
print("loss", repr(loss.item()), sum(p.grad.double().sum().item() for p in model.parameters()))
"""
WHOLE = "compiled = torch.compile(model)"
PARTS = "for layer in model.layers: layer.compile()\ncompiled = model"


@pytest.fixture(scope="module", name="cache")
def make_cache(tmp_path_factory):
    """Variables that give torch's caches and Sonde's a folder of the tests."""
    folder = tmp_path_factory.mktemp("caches")
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"), "XDG_CACHE_HOME": str(folder)}


@pytest.fixture(name="record")
def make_record(sonde_run, tmp_path, cache):
    """record(program, NAME=value) gives the loss and the capture."""

    def record(program, **more):
        done = sonde_run(
            program, "--profile-with-modules", "--profile-record-shapes",
            "--profile-save-path", "captures", **cache, **more,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (span,) = (tmp_path / "captures").glob("*_ascend_pt")
        return done.stdout, span

    return record


OWNERS = """
SELECT path, sum(calls) FROM compiled_kernel
WHERE kernel LIKE 'aten::addmm' AND path NOT LIKE '%(backward)' GROUP BY path ORDER BY path
"""
PRODUCTS = [[f"layers.{n}.{part}", "2"] for n in (0, 1) for part in ("down", "up")]


def check_modules(span):
    assert query(span, "SELECT count(*) FROM compiled_kernel WHERE path IS NULL") == [["0"]]
    assert query(span, OWNERS) == PRODUCTS
    backward = query(
        span, "SELECT DISTINCT path FROM compiled_kernel WHERE path LIKE '%(backward)'"
    )
    assert {path for (path,) in backward} >= {
        f"layers.{n}.{part} (backward)" for n in (0, 1) for part in ("up", "down")
    }
    lines = query(span, "SELECT lines FROM compiled_kernel WHERE path = 'layers.1.up'")
    assert all("program.py(10)" in text for (text,) in lines)
    inside = query(
        span,
        "SELECT DISTINCT s.name, p.name FROM slice s JOIN slice p ON p.slice_id = s.parent_id "
        "WHERE s.category = 'module' AND s.name = 'layers.0.up'",
    )
    assert inside == [["layers.0.up", "layers.0"]]
    frames = query(
        span,
        "SELECT DISTINCT frame FROM callstack JOIN framework_op USING (stack_id) WHERE module = "
        "'layers.0.down' AND depth = 0",
    )
    assert len(frames) == 1 and frames[0][0].endswith("program.py(10): forward")
    shapes = query(
        span, "SELECT DISTINCT input_shapes FROM framework_op o JOIN slice USING (slice_id) WHERE "
        "name LIKE 'cpp_fused_relu%'",
    )  # fmt: skip
    assert shapes and all(text for (text,) in shapes)


def check_work(span):
    """Bytes of a product by its sizes; operations of the products of a step as torch counts."""
    numbers = query(
        span, "SELECT DISTINCT bytes, flops FROM compiled_kernel WHERE path = 'layers.1.up'"
    )
    assert numbers == [[str(4 * (4 * 16 + 16 * 32 + 32 + 4 * 32)), str(2 * 4 * 16 * 32)]]
    assert query(span, "SELECT count(*) FROM compiled_kernel WHERE bytes IS NULL") == [["0"]]
    products = "SELECT sum(flops * calls) / 2 FROM compiled_kernel WHERE kernel LIKE 'aten::%mm'"
    forward, of_weights, of_values = 4, 4, 3  # nobody wants the gradient of the input
    assert float(query(span, products)[0][0]) == 4096 * (forward + of_weights + of_values)


def test_kernels_of_new_and_of_cached_code_have_their_modules(record, prepared, tmp_path, cache):
    printed = set()
    for state in ("new", "cached"):
        text, span = record(PROGRAM.format(compile=WHOLE))
        printed.add(text.splitlines()[-1])
        check_modules(span)
        check_work(span)
        made = query(
            span,
            "SELECT compile_id, cache LIKE '%hit%', step_id IS NOT NULL, operators > 4, is_backward"
            " FROM compilation ORDER BY start_ns",
        )
        assert made[0] == ["0/0", str(state == "cached").lower(), "true", "true", "0"], made
        found = query(span, "SELECT message FROM finding WHERE rule = 'compiled_step'")
        assert len(found) == 1 and "program.py:" in found[0][0]
        subprocess.run(["rm", "-r", tmp_path / "captures"], check=True)
    plain = subprocess.run(
        [prepared.python, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**{k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}, **cache},
    )  # fmt: skip
    assert printed == {plain.stdout.splitlines()[-1]}, "the same bits"


def test_layers_that_are_compiled_by_themselves_have_their_own_paths(record):
    _, span = record(PROGRAM.format(compile=PARTS))
    assert query(span, OWNERS) == PRODUCTS
    calls = query(
        span, "SELECT path, compiled_calls FROM top_modules WHERE path LIKE 'layers._' ORDER BY 1"
    )
    assert calls == [["layers.0", "0"], ["layers.1", "0"]], "these were called"


REASONS = """
import torch

def half(x, k):
    print("broken")
    return torch.relu(x) * k

half = torch.compile(half, backend="eager")
for k in (2, 3):
    half(torch.ones(4), k)
half(torch.ones(4, 2), 3)
"""


COLUMNS = (
    "SELECT compile_id, function, file, line, is_backward, guards, operators, breaks, "
    "break_reasons, cache, reason, error FROM compilation ORDER BY start_ns"
)


def test_why_something_is_compiled_again(record, tmp_path):
    # An interpreter of its own: torch reads the variable as it is imported.
    _, span = record(REASONS, python=sys.executable, TORCH_TRACE=str(tmp_path / "logs"))
    assert query(tmp_path / "logs", COLUMNS) == query(span, COLUMNS), "torch's log says the same"
    rows = query(span, "SELECT function, line, breaks, break_reasons, reason FROM compilation")
    first, *again = [row for row in rows if row[0] == "half"]
    assert first[1] == "4" and first[2] == "1" and "program.py:5" in first[3] and not first[4]
    assert not again, "what follows the break is compiled by itself"
    rest = [row for row in rows if row[0].startswith("torch_dynamo_resume")]
    assert not rest[0][4] and "k == 2" in rest[1][4], rows
