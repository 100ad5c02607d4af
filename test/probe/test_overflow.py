"""Tasks that look for NaN and infinity."""

PROGRAM = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
for step in range(3):
    debugger.start()
    x = torch.ones(2)
    y = torch.add(x, 1)
    z = torch.div(y, torch.zeros(2))
    torch.mul(z, 2)
    debugger.stop()
    debugger.step()
"""


def test_overflow_check_keeps_the_first(run_program, read_dump, tmp_path):
    done = run_program(PROGRAM, task="overflow_check", overflow_check={"overflow_nums": 1})
    assert "Torch.div.0.forward has NaN or infinity in its results" in done.stderr
    data = read_dump()["data"]
    assert list(data) == ["Torch.div.0.forward"]
    assert data["Torch.div.0.forward"]["input_args"][0]["Max"] == 2.0
    assert data["Torch.div.0.forward"]["output"][0]["Max"] == float("inf")
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    files = sorted(path.name for path in (folder / "dump_tensor_data").iterdir())
    assert files == [f"Torch.div.0.forward.{io}.pt" for io in ("input.0", "input.1", "output.0")]
    assert not (tmp_path / "dump" / "step1").exists()


def test_overflow_check_without_limit(run_program, read_dump):
    run_program(PROGRAM, task="overflow_check", overflow_check={"overflow_nums": -1})
    for step in range(3):
        assert list(read_dump(f"step{step}")["data"]) == [
            "Torch.div.0.forward",
            "Torch.mul.0.forward",
        ]


def test_nan_check_marks_every_call(run_program, read_dump):
    run_program(PROGRAM, task="nan_check")
    data = read_dump()["data"]
    assert data["Torch.add.0.forward"]["is_nan"] == 0
    assert data["Torch.div.0.forward"]["is_nan"] == 1
    assert "Max" not in data["Torch.div.0.forward"]["output"][0]
