"""`sonde probe acc_check`, `reproduce` and `api_precision_compare`.

Below api_check/ lies what mindstudio-probe 26.2.0 wrote for two dumps of one small program, with
the CPU in the place of a device: of saved tensors, and of statistics (inputs are made of them).
"""

import csv
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "api_check"
# Errors are of the size of rounding, and processors round sums in another order.
NOISE, SHARE = 1e-4, 0.05
FIRST_NUMBER, LAST_NUMBER = 4, 20


def extracted(name, place):
    folder = place / name
    folder.mkdir()
    if name == "tensors":
        zipfile.ZipFile(DATA / "tensors.zip").extractall(folder)
    else:
        (folder / "dump.json").write_bytes((DATA / f"{name}.json").read_bytes())
    return folder / "dump.json"


@pytest.fixture(name="dump")
def make_dump(tmp_path):
    """The dump of this name as a folder; needs torch."""
    pytest.importorskip("torch")

    return lambda name: extracted(name, tmp_path)


@pytest.fixture(name="check")
def make_check(probe):
    """check("acc_check", ...) with this Python."""

    def run(*words, good=True):
        return probe(*words, "--python", sys.executable, good=good)

    return run


@pytest.fixture(scope="module", name="checked")
def check_once(run_probe, tmp_path_factory):
    """checked(name): the messages on this dump, and the folder of its tables; read only."""
    pytest.importorskip("torch")
    known = {}

    def look(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            words = ("acc_check", "-api_info", extracted(name, folder), "-o", "out")
            done = run_probe(folder, *words, "--python", sys.executable)
            assert done.returncode == 0, done.stderr
            known[name] = done, folder / "out"
        return known[name]

    return look


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def one(folder, pattern):
    (found,) = Path(folder).glob(pattern)
    return found


def same_cell(ours, theirs, column):
    if not FIRST_NUMBER <= column <= LAST_NUMBER or ours == theirs:
        return ours == theirs
    a, b = float(ours), float(theirs)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return abs(a - b) <= max(NOISE, SHARE * max(abs(a), abs(b)))


@pytest.mark.parametrize("name", ["tensors", "statistics"])
def test_the_references_tables(checked, name):
    done, out = checked(name)
    ours = rows_of(one(out, "accuracy_checking_result_*.csv"))
    assert ours == rows_of(DATA / f"{name}_result.csv")
    details = rows_of(one(out, "accuracy_checking_details_*.csv"))
    expected = rows_of(DATA / f"{name}_details.csv")
    assert len(details) == len(expected)
    for row, other in zip(details, expected):
        differ = [i for i in range(len(other)) if not same_cell(row[i], other[i], i)]
        # How balanced errors are is noise where there are hardly any.
        assert set(differ) <= {10}, (row, other)
    assert "37 calls on cpu" in done.stdout


# Type, largest error, error of each value by the value, verdict, and the limit that decides.
LIMITS = (
    ("torch.float32", 0.0005, 1, "pass", "Max abs error is less than 0.001,"),
    ("torch.bfloat16", 1, 0.5, "error", "Relative error is greater than 0.01,"),
    ("torch.bfloat16", 1, 0.005, "warning", "Relative error is greater than 0.001,"),
    ("torch.bfloat16", 1, 0.0005, "pass", "Relative error is less than 0.001,"),
    ("torch.float32", 1, 0.005, "error", "Relative error is greater than 0.001,"),
    ("torch.float32", 1, 0.0005, "warning", "Relative error is greater than 0.0001,"),
    ("torch.float32", 1, 0.00005, "pass", "Relative error is less than 0.0001,"),
)


@pytest.mark.parametrize(("kind", "error", "relative", "verdict", "says"), LIMITS)
def test_each_limit_decides(kind, error, relative, verdict, says):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("torch")
    from sonde.torch.check import _measures

    row = _measures._judged(
        numpy, _measures.Row("", ""), numpy.full(8, error), numpy.full(8, relative), kind
    )
    assert row.status == verdict and row.message.startswith(says)


def test_what_rounding_explains_is_no_difference(checked):
    """The reference calls a mask of infinities an error, and bfloat16 a warning."""
    done, out = checked("tensors")
    assert "differs" not in done.stdout
    table = rows_of(one(out, "sonde_acc_check_*.csv"))
    verdicts = {row[0]: row[-1] for row in table[1:]}
    assert verdicts["Tensor.masked_fill.0.forward.output.0"] == "equal"
    assert verdicts["Functional.linear.0.forward.output.0"] == "rounding"
    assert verdicts["Functional.dropout.0.forward.output.0"] == "random"
    assert verdicts["Tensor.to.0"].startswith("not checked: API to in black list")


WRONG = """
import torch
original = torch.nn.functional.gelu
def gelu(x, *arguments, **named):
    out = original(x, *arguments, **named)
    return out if x.dtype == torch.float64 else out * 1.5
torch.nn.functional.gelu = gelu
"""


def test_a_wrong_operator_is_named(dump, check, tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WRONG)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    done = check("acc_check", "-api_info", dump("tensors"), "-o", "out")
    lines = [line for line in done.stdout.splitlines() if line.startswith("differs")]
    assert lines and all("Functional.gelu.0" in line for line in lines), done.stdout


def test_a_check_that_was_cut_goes_on(dump, check, checked, tmp_path):
    path = dump("tensors")
    whole = one(checked("tensors")[1], "accuracy_checking_result_*.csv")
    lines = whole.read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    cut = tmp_path / "cut" / "accuracy_checking_result_20260101120000.csv"
    cut.write_bytes(b"".join(lines[:10]))
    done = check("acc_check", "-api_info", path, "-csv_path", cut)
    assert rows_of(cut) == rows_of(whole)
    assert len(list((tmp_path / "cut").iterdir())) == 4, done.stdout


def test_lists_filter_and_saved_errors(dump, check, tmp_path):
    (tmp_path / "errors").mkdir()
    block = {"white_list": ["matmul", "masked_fill"], "error_data_path": "errors"}
    (tmp_path / "config.json").write_text(json.dumps({"acc_check": block}))
    words = ("-config", "config.json", "-save_error_data", "-f")
    check("acc_check", "-api_info", dump("tensors"), "-o", "out", *words)
    rows = rows_of(one(tmp_path / "out", "accuracy_checking_result_*.csv"))
    run = {row[0] for row in rows[1:] if row[1] != "SKIP"}
    assert run == {"Torch.matmul.0", "Torch.matmul.1", "Tensor.masked_fill.0"}
    folder = one(tmp_path / "errors", "ut_error_data*")
    names = {path.name for path in folder.iterdir()}
    assert "Tensor.masked_fill.0.forward.output.device.0.pt" in names


def test_other_functions_are_not_called(check, tmp_path):
    """A dump is a file from anywhere: names in it call nothing but what can be recorded."""
    pytest.importorskip("torch")
    data = {"Torch.load.0.forward": {"input_args": [{"type": "str", "value": "x.pt"}],
                                     "input_kwargs": {}, "output": []}}  # fmt: skip
    (tmp_path / "dump.json").write_text(json.dumps({"task": "statistics", "data": data}))
    done = check("acc_check", "-api_info", "dump.json", "-o", "out", good=False)
    assert done.returncode == 1
    assert "none of 1 call could be run, the first: Torch.load.0: " in done.stderr
    assert "not in the list of functions" in done.stderr


@pytest.mark.parametrize(
    ("content", "printed"),
    [
        (None, "cannot read"),
        ("{", "is not valid JSON"),
        ("[]", "is no dump"),
        ('{"data": 3}', "has no calls"),
        ('{"data": {"Torch.add.0": {}}}', "ends neither in .forward nor in .backward"),
    ],
)
def test_bad_dumps_are_one_line(check, tmp_path, content, printed):
    pytest.importorskip("torch")
    if content is not None:
        (tmp_path / "dump.json").write_text(content)
    for command in (("acc_check",), ("reproduce", "Torch.add.0")):
        done = check(*command, "-api_info", "dump.json", good=False)
        assert done.returncode == 1
        assert printed in done.stderr and done.stderr.count("\n") == 1, done.stderr


def mm_calls(folder, fields):
    """A dump of calls of one kind, as many as ``fields`` has; they describe the first argument,
    which is saved as is the other. Paths of the first ones."""
    torch = pytest.importorskip("torch")
    (folder / "dump_tensor_data").mkdir(parents=True)
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2], "Max": 1.0}
    tensor |= {"Min": 0.0, "Mean": 0.5, "Norm": 1.0, "requires_grad": False}
    calls, saved = {}, []
    for number, reported in enumerate(fields):
        arguments = [{**tensor, "data_name": f"a{number}.{i}.pt"} for i in range(2)]
        for argument in arguments:
            torch.save(torch.ones(2, 2), folder / "dump_tensor_data" / argument["data_name"])
        saved.append(folder / "dump_tensor_data" / arguments[0]["data_name"])
        arguments[0].update(reported)
        calls[f"Torch.mm.{number}.forward"] = {
            "input_args": arguments, "input_kwargs": {}, "output": [tensor],
        }  # fmt: skip
    content = {"task": "tensor", "dump_data_dir": "x", "data": calls}
    (folder / "dump.json").write_text(json.dumps(content))
    return saved


def damages(torch):
    """What became of a saved tensor, and what is reported of it."""
    wrong = "is not a tensor file, or is damaged"
    yield lambda path: path.unlink(), "cannot read"
    yield lambda path: path.write_bytes(b""), wrong
    yield lambda path: path.write_bytes(path.read_bytes()[:300]), wrong
    yield lambda path: path.write_bytes(bytes(range(256))), wrong
    yield lambda path: torch.save({"a": 1}, path), wrong
    yield lambda path: torch.save(Path("x"), path), wrong
    whole = torch.ones(2, 2, dtype=torch.int32)
    yield lambda path: torch.save(whole, path), "holds torch.int32 [2, 2], the dump states torch.f"
    yield lambda path: torch.save(torch.ones(3), path), "holds torch.float32 [3], the dump states"


# The fields of a record, and the message on them.
CANNOT_BE = (
    ({"data_name": None, "shape": "x"}, "x is no shape of a tensor"),
    ({"data_name": None, "shape": [-1, 2]}, "[-1, 2] is no shape of a tensor"),
    ({"data_name": None, "dtype": 3}, "3 is no type of torch"),
    ({"data_name": None, "Max": "a"}, "info type must be int or float"),
    ({"data_name": 7}, "is neither .pt nor .npy"),
    ({"data_name": None, "shape": [10**8, 10**8]}, "allocate"),
)


def test_each_damaged_input_is_named_and_the_rest_is_checked(check, tmp_path):
    """Calls of one dump: the last is good."""
    torch = pytest.importorskip("torch")
    damaged = list(damages(torch))
    fields = [{}] * len(damaged) + [reported for reported, _ in CANNOT_BE] + [{}]
    saved = mm_calls(tmp_path / "d", fields)
    for (damage, _), path in zip(damaged, saved):
        damage(path)
    done = check("acc_check", "-api_info", "d/dump.json", "-o", "out")
    assert f"{len(fields) - 1} calls, the first: Torch.mm.0: cannot read" in done.stdout
    verdicts = {row[0]: row[-1] for row in rows_of(one(tmp_path / "out", "sonde_acc_check_*.csv"))}
    expected = [printed for _, printed in damaged] + [printed for _, printed in CANNOT_BE]
    for number, printed in enumerate(expected):
        verdict = verdicts[f"Torch.mm.{number}"]
        assert verdict.startswith("not checked: ") and printed in verdict, verdict
    assert verdicts[f"Torch.mm.{len(expected)}.forward.output.0"] == "equal"


def test_nothing_but_damage_is_one_line_and_no_success(check, tmp_path):
    """A file that is none and one of another tensor, and a record that cannot be: one check, and a
    program of each."""
    damaged = list(damages(pytest.importorskip("torch")))
    damaged = [damaged[1], damaged[-1], (lambda _: None, CANNOT_BE[0][1])]
    saved = mm_calls(tmp_path / "d", [{}, {}, CANNOT_BE[0][0]])
    for (damage, _), path in zip(damaged, saved):
        damage(path)
    done = check("acc_check", "-api_info", "d/dump.json", "-o", "out", good=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "none of 3 calls could be run, the first: Torch.mm.0: " in done.stderr
    assert damaged[0][1] in done.stderr, done.stderr
    for number, (_, printed) in enumerate(damaged):
        words = ("reproduce", f"Torch.mm.{number}", "-api_info", "d/dump.json", "-o", "r")
        done = check(*words, good=False)
        assert done.returncode == 1 and printed in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "r").exists() or not list((tmp_path / "r").iterdir())


def test_nothing_to_check_and_no_place_to_write(check, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "dump.json").write_text('{"data": {"Module.a.Linear.forward.0": {}}}')
    done = check("acc_check", "-api_info", "dump.json", "-o", "out", good=False)
    assert done.returncode == 1 and "has no calls of functions" in done.stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "dump.json").write_text('{"data": {"Torch.mm.0.forward": "x"}}')
    done = check("acc_check", "-api_info", "dump.json", "-o", "o", good=False)
    assert "none of 1 call could be run" in done.stderr and "no record of a call" in done.stderr
    done = check("reproduce", "Torch.mm.0", "-api_info", "dump.json", "-o", "o", good=False)
    assert done.stderr == "sonde: error: dump.json: Torch.mm.0.forward is no record of a call\n"
    mm_calls(tmp_path / "d", [{}])
    (tmp_path / "out").write_text("")
    done = check("acc_check", "-api_info", "d/dump.json", "-o", "out", good=False)
    assert done.stderr == "sonde: error: cannot use out: File exists\n"


def test_a_python_without_torch_is_named(probe, tmp_path):
    empty = tmp_path / "python"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    empty.chmod(0o755)
    (tmp_path / "dump.json").write_text('{"data": {}}')
    done = probe("acc_check", "-api_info", "dump.json", "--python", empty, good=False)
    assert "cannot import torch" in done.stderr and "--python" in done.stderr
    # What is wrong with the dump, the call or the lists is reported first: torch takes seconds to
    # load.
    (tmp_path / "lists.json").write_text('{"acc_check": {"white_list": ["matmull"]}}')
    for printed, *words in (
        ("no/dump.json", "acc_check", "-api_info", "no/dump.json"),
        ("no call 'Torch.add.0'", "reproduce", "Torch.add.0", "-api_info", "dump.json"),
        ("matmull", "acc_check", "-api_info", "dump.json", "-config", "lists.json"),
    ):
        done = probe(*words, "--python", empty, good=False)
        assert printed in done.stderr and "torch" not in done.stderr, done.stderr
    missing = probe("acc_check", "-api_info", "dump.json", "--python", "nowhere", good=False)
    assert "nowhere" in missing.stderr and missing.stderr.count("\n") == 1


def run_program(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "others"), [("tensors", ("Torch.topk.0", "Tensor.masked_fill.0")), ("statistics", ())]
)
def test_a_call_as_a_program(dump, check, tmp_path, name, others):
    path = dump(name)
    for call in ("Functional.linear.0", *others[:1], *(f"{call}.forward" for call in others[1:])):
        check("reproduce", call, "-api_info", path, "-o", "repro")
    printed = run_program(tmp_path / "repro/Functional.linear.0.py")
    assert "torch.bfloat16" in printed and "gradient of input.0" in printed
    relative = float(printed.split("relative ")[1].split()[0])
    assert 1e-4 < relative < 1e-2  # as bfloat16 rounds
    for call in others:
        assert "relative 0.000e+00" in run_program(tmp_path / f"repro/{call}.py")


def test_a_call_that_is_not_there_gets_a_suggestion(dump, check):
    path = dump("statistics")
    done = check("reproduce", "Functional.linaer.0", "-api_info", path, good=False)
    assert "did you mean 'Functional.linear.0'?" in done.stderr


def test_two_devices_as_the_reference_compares_them(check, tmp_path):
    words = ("-npu", DATA / "compare_npu.csv", "-gpu", DATA / "tensors_details.csv")
    done = check("api_precision_compare", *words, "-o", "out")
    for kind in ("result", "details"):
        ours = rows_of(one(tmp_path / "out", f"api_precision_compare_{kind}_*.csv"))
        assert ours == rows_of(DATA / f"compare_{kind}.csv")
    assert "error" in done.stdout


def test_tables_that_are_none_are_one_line(check, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    words = ("-npu", "a.csv", "-gpu", DATA / "tensors_details.csv")
    done = check("api_precision_compare", *words, good=False)
    assert done.returncode == 1 and "-npu a.csv lacks the columns" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["-npu", "-gpu"])
def test_a_table_that_is_cut_is_refused(check, tmp_path, option):
    """Whether it ends in a row or in a quoted cell of it."""
    paths = {"-npu": DATA / "compare_npu.csv", "-gpu": DATA / "tensors_details.csv"}
    whole = paths[option].read_bytes()
    paths[option] = tmp_path / "cut.csv"
    words = [word for pair in paths.items() for word in pair]
    for share in (0.3, 0.5, 0.7):
        at = whole.index(b"\n", int(len(whole) * share)) + 40  # within a row
        paths[option].write_bytes(whole[:at])
        done = check("api_precision_compare", *words, "-o", "out", good=False)
        assert done.returncode == 1
        assert f"{option} {tmp_path / 'cut.csv'}" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_results_of_one_table_only_are_counted(check, tmp_path):
    whole = DATA / "tensors_details.csv"
    head, *rows = rows_of(whole)

    def write(name, rows):
        with open(tmp_path / name, "w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows([head, *rows])

    write("part.csv", rows[: len(rows) // 2])
    for words, table in (
        (("-npu", whole, "-gpu", "part.csv"), "gpu"),
        (("-npu", "part.csv", "-gpu", whole), "npu"),
    ):
        done = check("api_precision_compare", *words, "-o", "out")
        assert f"results are not in the table of -{table}, and are not compared" in done.stdout
    write("rest.csv", rows[len(rows) // 2 :])
    done = check("api_precision_compare", "-npu", "rest.csv", "-gpu", "part.csv", good=False)
    assert done.returncode == 1 and "have no result in common" in done.stderr
