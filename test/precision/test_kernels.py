"""MindSpore's kernels (`--rank`, `--step`) and dumps of Ascend's transformer library (`-m atb`)."""

import csv
import struct
import zipfile

import pytest

STATISTIC = (
    *("Op Type", "Op Name", "Task ID", "Stream ID", "Timestamp", "IO", "Slot", "Data Size"),
    *("Data Type", "Shape", "Max Value", "Min Value", "Avg Value", "L2Norm Value"),
)


def npy(values, shape=None, descr="<f4", code="f"):
    shape = (len(values),) if shape is None else shape
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    size = struct.pack("<H", len(head))
    return (
        b"\x93NUMPY\x01\x00" + size + head.encode() + struct.pack(f"<{len(values)}{code}", *values)
    )


def kernels(root, rank=0, step=0):
    folder = root / f"rank_{rank}" / "Net" / "0" / str(step)
    folder.mkdir(parents=True)
    return folder


def statistic(folder, rows):
    with (folder / "statistic.csv").open("w", newline="") as file:
        csv.writer(file).writerows((STATISTIC, *rows))


def line(name, time, values, shape="(2, 3)", dtype="float32"):
    return ["Add", name, 0, 0, time, "output", 0, 24, dtype, shape, *values]


@pytest.fixture(name="tables")
def make_tables(probe, tmp_path):
    """tables(words...) compares the folders target and golden: {file name: rows}, stdout."""

    def run(*words, good=True):
        command = ("compare", "-tp", tmp_path / "target", "-gp", tmp_path / "golden")
        done = probe(*command, "-o", tmp_path / "out", *words, good=good)
        found = {}
        for path in sorted((tmp_path / "out").glob("*.csv")):
            with path.open(newline="") as file:
                found["_".join(path.stem.split("_")[:4])] = list(csv.DictReader(file))
        return found, done

    return run


def test_statistics_of_kernels(tables, tmp_path):
    statistic(
        kernels(tmp_path / "target"),
        [
            line("Default/Add-op0", 5, (2.0, -1.0, 0.5, 3.0)),
            line("Default/Add-op0", 3, (4.0, "null", "nan", 1.0)),
            line("Default/Mul-op1", 4, (1.0, 1.0, 1.0, 1.0), dtype="int64"),
            line("Default/Only-op2", 6, (1.0, 1.0, 1.0, 1.0)),
        ],
    )
    statistic(
        kernels(tmp_path / "golden"),
        [
            line("Default/Add-op0", 1, (4.0, 0, "nan", 0)),
            line("Default/Add-op0", 2, (0.5, -1.0, 0.25, "inf")),
            line("Default/Mul-op1", 4, (1.0, 1.0, 1.0, 1.0)),
        ],
    )
    found, done = tables("--rank", "0")
    rows = found["compare_result_0_0"]
    first, second = rows[0], rows[1]  # equal names in the order of their time
    assert first["NPU Name"] == "Default/Add-op0.0.output.0"
    assert (first["Max diff"], first["MaxRelativeErr"]) == ("0.0", "0.0%")
    assert (first["Mean diff"], first["NormRelativeErr"]) == ("Nan", "N/A")
    assert first["Accuracy Reached or Not"] == "Yes"
    assert (second["Max diff"], second["MaxRelativeErr"]) == ("1.5", "300.0%")
    assert (second["Mean diff"], second["L2norm diff"]) == ("0.25", " -inf")
    assert second["Accuracy Reached or Not"] == "No"
    assert "Dtype of NPU and bench" in rows[2]["Err_message"]
    assert rows[3]["Bench Name"] == "" and rows[3]["Err_message"] == "Dump file not found.\n"
    assert "4: 1 accurate, 1 not" in done.stdout
    assert "first bad  Default/Add-op0.0.output.0" in done.stdout


def test_tensors_of_kernels(tables, tmp_path):
    name = "MatMul.Default_MatMul-op{}.0.0.{}.output.0.DefaultFormat.npy"
    for side, factor in (("target", 1.0), ("golden", 2.0)):
        folder = kernels(tmp_path / side)
        (folder / name.format(0, 5)).write_bytes(npy([1.0, 2.0, 3.0]))
        (folder / name.format(1, 6)).write_bytes(npy([1.0, 2.0, 3.0 * factor]))
        (folder / name.format(2, 7)).write_bytes(npy([1.0, float("nan") if factor == 1 else 0.0]))
        (folder / name.format(3, 8)).write_bytes(npy([1.0] * int(factor)))
        (folder / name.format(4, 9)).write_bytes(b"no tensor")
        (folder / "long.npy").write_bytes(npy([1.0, 1.0]))
        # MindSpore writes no header.
        (folder / "mapping.csv").write_text(f"long.npy,{name.format(5, 10)}\n")
        (folder / "other.txt").write_text("")
    found, done = tables("--rank", "0", good=False)
    assert done.returncode == 1
    assert "no numbers in 1 row whose tensors could not be read, the first: " in done.stderr
    rows = dict(enumerate(found["compare_result_0_0"]))  # in the order of the names
    verdicts = [row["Accuracy Reached or Not"] for row in rows.values()]
    assert verdicts == ["Yes", "No", "", "", "", "Yes"], done.stdout
    # Manually: cosine (1 + 4 + 18) / (sqrt(14) sqrt(41)) = 0.96, difference 3.
    assert float(rows[1]["Cosine"]) == pytest.approx(23 / (14 * 41) ** 0.5)
    assert (rows[1]["MaxAbsErr"], rows[1]["NPU Tensor Shape"]) == ("3.0", "[3]")
    assert "position of inf or nan" in rows[2]["Err_message"]
    assert "Shape of NPU" in rows[3]["Err_message"]
    assert "op4" in rows[4]["Err_message"]
    assert rows[5]["NPU Name"].endswith("long.npy")
    assert "2 accurate, 1 not" in done.stdout


def test_ranks_and_steps_are_chosen(tables, tmp_path):
    rows = [line("Default/Add-op0", 1, (1.0, 1.0, 1.0, 1.0))]
    for side in ("target", "golden"):
        for rank in range(3):
            for step in range(2):
                statistic(kernels(tmp_path / side, rank, step), rows)
    found, _ = tables("--rank", "0, 2", "--step", "1")
    assert sorted(found) == ["compare_result_0_1", "compare_result_2_1"]
    assert tables("--rank", "x", good=False)[1].returncode == 2
    done = tables("--rank", "7", good=False)[1]
    assert done.returncode == 1 and "no kernels of the wanted ranks" in done.stderr


def test_kernels_are_recognised(tables, tmp_path):
    """Without --rank: folders of MindSpore's dumps, unless msProbe's are next to them."""
    rows = [line("Default/Add-op0", 1, (1.0, 1.0, 1.0, 1.0))]
    for side in ("target", "golden"):
        for rank in range(2):
            statistic(kernels(tmp_path / side, rank), rows)
    assert sorted(tables()[0]) == ["compare_result_0_0", "compare_result_1_0"]
    (tmp_path / "target" / "step0").mkdir()
    done = tables(good=False)[1]
    assert done.returncode == 1 and "no dump in" in done.stderr


ATB = ("Device and PID", "Count", "OpName", "Type", "OpId", "IO", "Index", "Dtype", "Format",
       "Shape", "Max", "Min", "Mean", "Norm", "Path")  # fmt: skip


def atb_row(name, number, values, path="N/A"):
    return ["0_77", 0, name, "t", number, "output", 0, "fp16", "nd", "2,2", *values, path]


def atb(folder, rows):
    folder.mkdir(parents=True)
    with (folder / "statistic.csv").open("w", newline="") as file:
        csv.writer(file).writerows((ATB, *rows))


def sheet(folder):
    (path,) = folder.glob("*.xlsx")
    with zipfile.ZipFile(path) as book:
        return path.name, book.read("xl/worksheets/sheet1.xml").decode()


def test_atb_statistics(probe, tmp_path):
    atb(tmp_path / "target", [atb_row("Layer/Linear", "0_3", (1.5, 0, 2, "N/A")),
                              atb_row("Only", "9", (1, 1, 1, 1))])  # fmt: skip
    atb(tmp_path / "golden", [atb_row("Layer/Linear", "0_3", (1.0, 0, 0, 1))])
    words = ("-m", "atb", "-tp", tmp_path / "target", "-gp", tmp_path / "golden")
    done = probe("compare", *words, "-o", tmp_path / "out")
    assert "rows       1, 1 more only in the target, 0 only in the golden dump" in done.stdout
    name, text = sheet(tmp_path / "out")
    assert name.startswith("atb_stats_compare_result_")
    assert "0_Layer/3_Linear/output.0" in text and "Relative Err of Max(%)" in text
    assert "<v>50</v>" in text


def test_atb_tensors(probe, tmp_path):
    place = "/home/x/atb_dump_data/0_77/1/2/0_Linear/outtensor0.bin"
    for side, last in (("target", 4.0), ("golden", 8.0)):
        folder = tmp_path / side
        atb(folder, [atb_row("Linear", "0", (1, 1, 1, 1), place),
                     atb_row("Gone", "1", (1, 1, 1, 1), place.replace("0_L", "1_L"))])  # fmt: skip
        (folder / "0_Linear").mkdir()
        head = b"$Version=1.0\n$Object.Count=1\ndtype=0\nformat=2\ndims=2,2\n$End=1\n"
        values = struct.pack("<4f", 1.0, 2.0, 3.0, last)
        (folder / "0_Linear/outtensor0.bin").write_bytes(head + values)
    words = ("-m", "atb", "-tp", tmp_path / "target", "-gp", tmp_path / "golden")
    done = probe("compare", *words, "-o", tmp_path / "out", good=False)
    assert done.returncode == 1
    assert "no numbers in 1 row whose tensors could not be read, the first: " in done.stderr
    name, text = sheet(tmp_path / "out")
    assert name.startswith("atb_tensor_compare_result_")
    assert "<v>0.75</v>" in text  # three of four are equal


@pytest.mark.parametrize("mode", ("offline_data", "offline_model", "torchair"))
def test_modes_that_need_cann(mode, probe, tmp_path):
    done = probe("compare", "-m", mode, "-tp", tmp_path, "-gp", tmp_path, good=False)
    assert done.returncode == 1 and "CANN" in done.stderr
    done = probe("compare", "-m", "x", "-tp", tmp_path, "-gp", tmp_path, good=False)
    assert done.returncode == 2
