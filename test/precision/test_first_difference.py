"""``sonde probe first_difference``: what it says of runs, and of programs that give it nothing.

Runs of a real compiler are in test/graph.
"""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
sys.path.insert(0, str(ROOT / "python"))

from sonde._first_difference import __main__ as command  # noqa: E402
from sonde._first_difference import _runs, _verdict  # noqa: E402
from sonde._first_difference._kernels import Compiled  # noqa: E402

PYTHON = Path(sys.executable)


@pytest.mark.parametrize(
    ("program", "text"),
    [("raise SystemExit(7)", "failed by itself, without a compiler, with exit status 7"),
     ("import os; os.kill(os.getpid(), 9)", "without a compiler, with signal SIGKILL"),
     ("print(1)", "the run 'eager' recorded nothing: the program called no module of torch")],
)  # fmt: skip
def test_a_program_without_a_result_gets_one_line(probe, program, text):
    done = probe("first_difference", "--python", PYTHON, "--", PYTHON, "-c", program, good=False)
    assert done.returncode == 1 and done.stdout == ""
    assert text in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("sonde: error: ")


@pytest.mark.parametrize(
    ("words", "text"),
    [(["--backends", "eager"], "two different names or more"),
     (["--backends", "inductor,inductor"], "two different names or more"),
     (["--backends", "inductor,eager"], "eager is a reference, it comes first")],
)  # fmt: skip
def test_names_that_cannot_be_compared(probe, words, text):
    done = probe("first_difference", "--python", PYTHON, *words, "--", "true", good=False)
    assert done.returncode == 1 and text in done.stderr


def test_a_folder_with_files_is_left_alone(probe, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").touch()
    words = ["--python", PYTHON, "-o", tmp_path / "old", "--", "true"]
    done = probe("first_difference", *words, good=False)
    assert done.returncode == 1 and "holds files already" in done.stderr


def record(value):
    numbers = {"Max": value, "Min": -value, "Mean": 0.0, "Norm": 4 * value}
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 4], **numbers,
            "requires_grad": False}  # fmt: skip


class Imagined(_runs.Runner):
    """Runs whose dumps are made up; they are compared by the command."""

    # What the two layers give, by the name of the run.
    values = {"eager": (1.0, 2.0), "eager_again": (1.0, 2.0), "inductor": (1.0, 2.5)}
    graphs = 1
    out = Path()

    def dump(self, name, backend):
        run = _runs.Run(name, backend, str(self.out / name))
        folder = self.out / name / "step0" / "rank0"
        folder.mkdir(parents=True)
        names = [f"Module.layers.{at}.act.ReLU.forward.0" for at in range(2)]
        data = {key: {"output": [record(value)]} for key, value in zip(names, self.values[name])}
        head = {"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": None}
        (folder / "dump.json").write_text(json.dumps({**head, "data": data}))
        (folder / "construct.json").write_text(json.dumps(dict.fromkeys(names)))
        (folder / "stack.json").write_text("{}")
        if backend != _runs.EAGER:
            text = json.dumps({"graphs": self.graphs})
            (self.out / name / "compiled_rank0.json").write_text(text)
        return run

    def check_kernels(self, name):
        folder = self.out / name
        folder.mkdir()
        kernel = {"file": "/cache/ab.py", "line": 7, "kernel": "cpp_fused_relu_1", "class": "ReLU",
                  "module": "layers.1.act", "also": [], "operators": ["aten.relu"],
                  "lines": ["model.py(12)"], "backward": False}  # fmt: skip
        text = json.dumps({"random": [], "kernels": [kernel]})
        (folder / "compiled_rank0.json").write_text(text)
        (folder / "compile_check_rank0.csv").write_text(
            "result,kernel,call,module,lines,error,explained,scale\n"
            "differs,cpp_fused_relu_1,ab.py(7),layers.1.act,model.py(12),0.5,1e-06,2.0\n"
        )
        return _runs.Run(name, _runs.INDUCTOR, str(folder))


@pytest.fixture(name="conclude")
def make_conclude(monkeypatch, capsys, tmp_path):
    """conclude("--fail-if-differs", values={...}) gives status, output and last line."""
    monkeypatch.setenv("SONDE_HOME", str(BUILD))

    def run(*words, graphs=1, **values):
        monkeypatch.setattr(Imagined, "values", {**Imagined.values, **values})
        monkeypatch.setattr(Imagined, "graphs", graphs)
        monkeypatch.setattr(Imagined, "out", tmp_path)
        monkeypatch.setattr(command, "Runner", Imagined)
        monkeypatch.setattr(command, "_prepare", lambda folder: None)
        common = ["--sonde", str(BUILD / "bin" / "sonde"), "--backends", "eager,inductor"]
        status = command.main([*common, "--out", str(tmp_path), *words, "--", "program"])
        out, err = capsys.readouterr()
        return status, out, (err.splitlines() or [""])[-1]

    return run


def test_where_runs_part_is_named_with_module_and_kernel(conclude):
    status, out, error = conclude("--fail-if-differs")
    assert status == 3
    assert error.startswith("sonde: error: first_difference: ")
    assert "Module.layers.1.act.ReLU.forward.0.output.0" in out.splitlines()[0]
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert ["module", "layers.1.act (ReLU)"] in lines
    assert ["operators", "aten.relu"] in lines
    (kernel,) = (text for head, text in lines if head == "kernel")
    assert kernel.startswith("cpp_fused_relu_1 (model.py(12)): differs from eager operators")
    assert "off by 0.5 of 2, rounding explains 1e-06" in out


def test_a_result_without_the_condition_is_no_failure(conclude):
    status, out, error = conclude("--format", "json")
    assert status == 0 and error == ""
    (found,) = json.loads(out)
    assert found["differs"] and found["module"] == "layers.1.act" and found["class"] == "ReLU"
    assert found["kernels"][0]["check"] == "differs"


def test_rounding_is_no_difference(conclude):
    status, out, _ = conclude("--fail-if-differs", inductor=(1.0, 2.0000002))
    assert status == 0
    assert out.startswith("eager against inductor: no difference beyond rounding")
    assert "2 values of modules (with gradients, where it trains), 1 of them equal" in out
    assert "what no module of torch gets or gives is not compared" in out


def test_a_program_that_differs_by_itself_accuses_no_compiler(conclude):
    status, out, error = conclude("--fail-if-differs", eager_again=(1.0, 2.3))
    assert status == 1 and out == ""
    assert "two runs of the same program (eager) differ" in error


def test_a_program_that_compiles_nothing(conclude):
    status, out, error = conclude(graphs=0)
    assert status == 1 and out == ""
    assert "nothing was compiled in the run 'inductor'" in error


PAIR = {"place": "Module.act.ReLU.forward.0.output.0", "evidence": []}
COMPARED = {"differs": True, "first": "it differs", "first_pair": 0, "pairs": [PAIR]}


def made(check):
    site = {"file": "/a/b.py", "line": 3, "kernel": "cpp_0", "module": "act", "also": [],
            "operators": ["aten.relu"], "lines": [], "backward": False}  # fmt: skip
    rows = [{"result": check, "call": "b.py(3)"}] if check else []
    return Compiled(sites=[site], checks=rows)


def test_kernels_that_compute_what_they_should_are_not_blamed():
    text = _verdict.text_of(_verdict.conclude("eager", "inductor", COMPARED, made("agrees")))
    assert "cpp_0: agrees with eager operators on its own inputs" in text
    assert "in how the graph was made (decompositions, passes)" in text


def test_kernels_that_nobody_looked_at_are_not_called_right():
    for check in ("not checked", ""):
        text = _verdict.text_of(_verdict.conclude("eager", "inductor", COMPARED, made(check)))
        assert "cpp_0: not checked by itself" in text
        assert "agrees" not in text and "compute what their graph says" not in text


def test_random_numbers_are_named():
    compiled = Compiled(random=["aten.rand (drop)"])
    text = _verdict.text_of(_verdict.conclude("eager", "inductor", COMPARED, compiled))
    assert "compiled code draws random numbers: aten.rand (drop)" in text
