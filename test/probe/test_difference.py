"""The task that compares checksums with an earlier dump while the program runs."""

PROGRAM = """
import sys
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
turned = "turned" in sys.argv
torch.manual_seed(0)
for step in range(3):
    debugger.start()
    x = torch.add(torch.ones(3), step)
    y = torch.dropout(x, 0.5, True)          # other numbers when the seed differs
    z = torch.mul(y, 2)                      # other inputs: no difference of its own
    torch.ones(3).div_(torch.full((3,), 4.0))
    debugger.stop()
    debugger.step()
    if turned and step == 0:
        torch.manual_seed(5)
"""


def test_keeps_the_first_call_that_differs(run_program, read_dump, tmp_path):
    run_program(PROGRAM, statistics={"summary_mode": "md5"})
    (tmp_path / "dump").rename(tmp_path / "bench")
    block = {"summary_mode": "md5", "bench_path": "bench"}
    done = run_program(PROGRAM, task="tensor", tensor=block, arguments=["turned"])
    assert "Torch.dropout.0.forward got the same inputs" in done.stderr
    (folder,) = (tmp_path / "dump" / "step1").iterdir()
    saved = sorted(path.name for path in (folder / "dump_tensor_data").iterdir())
    assert saved == [f"Torch.dropout.0.forward.{io}.0.pt" for io in ("input", "output")]
    assert read_dump("step1")["task"] == "diff_check"
    data = read_dump("step1")["data"]
    assert data["Torch.dropout.0.forward"]["input_args"][0]["data_name"] == saved[0]
    assert "data_name" not in data["Torch.mul.0.forward"]["input_args"][0]
    (first,) = (tmp_path / "dump" / "step0").iterdir()
    assert not list((first / "dump_tensor_data").iterdir())
    assert not (tmp_path / "dump" / "step2").exists()  # diff_nums is 1


def test_settings_that_cannot_compare(run_program, tmp_path):
    source = 'from sonde.torch import PrecisionDebugger\nPrecisionDebugger("config.json")'
    for block, text in (
        ({}, "diff_check needs bench_path"),
        ({"bench_path": "nowhere", "summary_mode": "md5"}, "bench_path nowhere does not exist"),
        ({"bench_path": "."}, "diff_check needs the summary_mode md5"),
    ):
        done = run_program(source, good=False, task="diff_check", diff_check=block)
        assert done.returncode != 0
        assert text in done.stderr
