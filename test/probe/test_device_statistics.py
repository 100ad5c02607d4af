"""Statistics of tensors elsewhere: marked tensors stand for those of an accelerator. What is
computed on the device must equal what is computed of the same tensors in host memory."""

import math
import shutil

import pytest

PROGRAM = """
import os, signal, sys
import torch
from torch import nn
from sonde.torch import PrecisionDebugger
from sonde.torch.precision import _device_statistics

class Elsewhere(torch.Tensor):
    is_cpu = property(lambda self: False)

def put(x):
    return x.as_subclass(Elsewhere) if "elsewhere" in sys.argv else x

def count(kind, name, counts):
    original = getattr(kind, name)
    def call(*args, **kwargs):
        counts.append(name)
        return original(*args, **kwargs)
    setattr(kind, name, call)

torch.manual_seed(0)
torch.set_num_threads(1)
counts = []
count(_device_statistics.DeviceStatistics, "fetch", counts)
count(torch.Tensor, "cpu", counts)
debugger = PrecisionDebugger("config.json")
"""

EVERY_KIND = """
x = torch.randn(5, 7)
values = [x.to(getattr(torch, name)) for name in (
    "float32 float16 bfloat16 float64 int8 int16 int32 int64 uint8 bool complex64 complex128"
).split()]
values += [x * 60000.0, (x * 60000.0).half(), x / 0.0, x.sqrt(), x.t(), x[::2, 1:], x[:0]]
values += [v.flatten()[0] for v in values if v.numel()]
values += [x.to(torch.float8_e4m3fn), torch.complex(x, -x).conj(), torch.tensor(float("nan"))]
values = [put(value) for value in values]
debugger.start()
for value in values:
    torch.clone(value)
changed = put(torch.ones(4))
torch.add(changed, 1)
one = put(torch.tensor(3.0))
torch.add(one, 1)
changed.fill_(9)
one.fill_(9)
debugger.stop()
debugger.step()
print(counts)
"""

TRAINING = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x, scale=None):
        return {"a": self.inner(x) * scale, "b": [x.relu(), None]}

model = Part()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    debugger.start(model=model)
    x = put(torch.randn(3, 6))
    torch.sigmoid(model(x, scale=put(torch.tensor(2.0)))["a"]).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    debugger.stop()
    debugger.step()
print(counts)
"""


def leaves(value, path=""):
    """All values of a dump by their place."""
    if isinstance(value, dict):
        return {k: v for key in value for k, v in leaves(value[key], f"{path}/{key}").items()}
    if isinstance(value, list):
        return leaves(dict(enumerate(value)), path)
    return {path: value}


def alike(one, other):
    """Whether they differ by no more than two orders of summing do."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5) or (math.isnan(one) and math.isnan(other))
    return repr(one) == repr(other)


def assert_alike(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert list(found) == list(expected)
    pairs = {path: (value, expected[path]) for path, value in found.items()}
    assert {path: pair for path, pair in pairs.items() if not alike(*pair)} == {}


@pytest.fixture(name="both")
def make_both(run_program, read_dump, tmp_path):
    """both(program, ...) gives the dumps in host memory and elsewhere, and what was counted."""
    pytest.importorskip("torch")

    def run(program, steps=("step0",), **settings):
        found = []
        for place in ("here", "elsewhere"):
            done = run_program(PROGRAM + program, arguments=[place], **settings)
            found.append([read_dump(step)["data"] for step in steps])
            shutil.rmtree(tmp_path / "dump")
        return *found, done.stdout

    return run


@pytest.mark.parametrize("precision", ["low", "high"])
def test_every_kind_of_tensor(both, precision):
    here, elsewhere, counted = both(EVERY_KIND, precision=precision)
    assert_alike(elsewhere, here)
    data = elsewhere[0]
    assert len(data) == 44
    assert data["Torch.add.0.forward"]["input_args"][0]["Max"] == 1.0, "before it was changed"
    assert data["Torch.add.1.forward"]["input_args"][0]["Norm"] == 3.0
    assert counted.strip() == "['cpu', 'cpu', 'fetch']", "once; the type without rules, in and out"


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_training(both, level):
    steps = ("step0", "step1", "step2")
    here, elsewhere, counted = both(TRAINING, steps, level=level)
    assert [list(step) for step in elsewhere] == [list(step) for step in here]
    for step in (*here, *elsewhere):
        # The last node of a call is the one that makes its result one of the class Elsewhere.
        for name in [name for name in step if name.endswith(".backward")]:
            step[name].pop("output")
    assert_alike(elsewhere, here)
    assert "cpu" not in counted and counted.count("fetch") == 3
    assert any(".backward" in name for name in elsewhere[2])


def test_nan_check(both):
    here, elsewhere, counted = both(EVERY_KIND, task="nan_check")
    assert_alike(elsewhere, here)
    assert {entry["is_nan"] for entry in elsewhere[0].values()} == {0, 1}
    assert counted.strip() == "[]"


FINITE = """
debugger.start()
for value in (torch.randn(5), torch.ones(2, dtype=torch.complex64), torch.arange(3)):
    torch.add(put(value), 1)
torch.add(put(torch.ones(3)), float("inf"))
debugger.stop()
debugger.step()
print(counts)
"""


def test_overflow_check(both):
    here, elsewhere, counted = both(FINITE, task="overflow_check", overflow_nums=-1)
    assert_alike(elsewhere, here)
    assert list(elsewhere[0]) == ["Torch.add.3.forward"]
    assert counted.count("cpu") == 2, "what is saved"


def test_tensors_that_are_saved(both):
    here, elsewhere, counted = both(EVERY_KIND, task="tensor")
    assert_alike(elsewhere, here)
    assert "cpu" in counted and "fetch" not in counted


ON_THE_DEVICE = """
from sonde.torch.precision import _device_checksums
_device_checksums.SMALLEST_BYTES = 1
"""


@pytest.mark.parametrize("mode", ["md5", "xor"])
def test_checksums(both, mode):
    """Of what a tensor held at its call."""
    here, elsewhere, counted = both(ON_THE_DEVICE + EVERY_KIND, statistics={"summary_mode": mode})
    assert_alike(elsewhere, here)
    data = elsewhere[0]
    assert len(data) == 44
    ones = data["Torch.add.0.forward"]["input_args"][0]["md5"]
    assert ones == ("e8681456" if mode == "md5" else "0x0000000000000000"), "before it was changed"
    assert counted.count("fetch") == 1
    assert counted.count("cpu") == 46, "numbers alone, and the type without rules"


def test_small_tensors_are_checked_by_the_host(both):
    here, elsewhere, counted = both(EVERY_KIND, statistics={"summary_mode": "md5"})
    assert_alike(elsewhere, here)
    assert "fetch" not in counted


CHECKSUMS = """
import zlib
from sonde.torch.precision import _device_checksums as checksums
checksums._PART_BYTES = 1 << 14
for size in (*range(1, 20), 255, 256, 257, 511, 513, 16383, 16384, 16385, 100003):
    for begin in (0, 3):
        x = torch.randint(0, 256, (size + begin,), dtype=torch.uint8)[begin:]
        found = checksums.crc32(torch, x)
        assert found.text(int(found.word)) == f"{zlib.crc32(x.numpy()):08x}", size
        words = [int.from_bytes(x.numpy()[i:i + 8].tobytes(), "little") for i in range(0, size, 8)]
        for word in words[1:]:
            words[0] ^= word
        found = checksums.xor_words(torch, x)
        assert found.text(int(found.word)) == f"0x{words[0]:016x}", size
with torch.autocast("cpu", dtype=torch.bfloat16):
    found = checksums.crc32(torch, x)
    assert found.text(int(found.word)) == f"{zlib.crc32(x.numpy()):08x}", "autocast"
print("equal")
"""


def test_checksums_of_every_length(run_program):
    """Beside zlib's: rows, parts and levels that are full, and those that are not."""
    pytest.importorskip("torch")
    assert "equal" in run_program(PROGRAM + CHECKSUMS).stdout


def test_a_device_that_cannot_count(both):
    """As one whose products are rounded: the host works checksums out."""
    program = """
exact = torch.Tensor.mm
torch.Tensor.mm = lambda self, other: exact(self.bfloat16(), other.bfloat16()).half()
"""
    here, elsewhere, counted = both(
        ON_THE_DEVICE + program + EVERY_KIND, statistics={"summary_mode": "md5"}
    )
    assert_alike(elsewhere, here)
    assert "fetch" not in counted


def test_a_checksum_that_fails(run_program, read_dump):
    """No memory for it on the device, for example: the host works it out."""
    done = run_program(
        PROGRAM
        + ON_THE_DEVICE
        + """
def broken(torch, tensor):
    raise RuntimeError("no memory")
_device_checksums.crc32 = broken
debugger.start()
torch.add(put(torch.ones(4)), 1)
debugger.stop()
debugger.step()
print(counts)
""",
        arguments=["elsewhere"],
        statistics={"summary_mode": "md5"},
    )
    assert done.stdout.count("cpu") == 2
    assert read_dump()["data"]["Torch.add.0.forward"]["input_args"][0]["md5"] == "e8681456"


def test_numbers_do_not_wait_for_ever(run_program, read_dump):
    """A killed program has lost no more than some thousand."""
    done = run_program(
        PROGRAM
        + """
x = put(torch.ones(3))
debugger.start()
for number in range(3000):
    torch.add(x, number)
print(counts, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
""",
        good=False,
        arguments=["elsewhere"],
    )
    assert done.returncode == -9, done.stderr
    data = read_dump()["data"]
    assert 1500 < len(data) < 3000
    assert data["Torch.add.1500.forward"]["output"][0]["Max"] == 1501.0
    assert done.stdout.count("fetch") == 2


def test_a_kernel_that_is_missing(both):
    program = """
def missing(*args):
    raise NotImplementedError("aminmax not implemented for this device")
torch.aminmax = missing
debugger.start()
torch.add(put(torch.ones(3)), 1)
debugger.stop()
debugger.step()
print(counts)
"""
    here, elsewhere, counted = both(program)
    assert_alike(elsewhere, here)
    assert counted.strip() == "['cpu', 'cpu']"


def test_a_device_that_fails(run_program, read_dump, tmp_path):
    """The entries lack their numbers; the program goes on, and the reason is reported."""
    done = run_program(
        PROGRAM
        + """
def broken(self, waiting):
    raise RuntimeError("the device is gone")
_device_statistics.DeviceStatistics._values = broken
debugger.start()
torch.add(put(torch.ones(3)), 1)
debugger.stop()
debugger.step()
print("went on")
""",
        arguments=["elsewhere"],
    )
    assert "went on" in done.stdout and "the device is gone" in done.stderr
    (output,) = read_dump()["data"]["Torch.add.0.forward"]["output"]
    assert output["Max"] is None and output["shape"] == [3]
    (log,) = tmp_path.glob("dump/step0/*/dump_error_info.log")
    assert "the device is gone" in log.read_text()
