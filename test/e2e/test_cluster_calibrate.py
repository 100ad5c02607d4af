"""`sonde cluster -m calibrate_npu_gpu`: names that are alike, not there, and files that do not do.

What is expected of the former is what msprof-analyze 26.2.0 gave of the same files.
"""

import sqlite3
import zipfile

import pytest
from nsys_writer import NsysFile, write_recorded

NET = ["DistributedDataParallelLinear", "AlexNetLinear"]


@pytest.fixture(name="folder")
def find_folder(shared_data):
    return shared_data / "ascend_pt" / "synth8_tp_pp_dp"


@pytest.fixture(name="calibrate")
def make_calibration(run_sonde, folder, tmp_path):
    """calibrate(path, *options) gives rows of rank 0 of the tables, by name, and what was
    reported."""

    def run(path, *options):
        words = ("cluster", "-m", "calibrate_npu_gpu", "-d", folder, "-o", tmp_path / "out")
        done = run_sonde(*words, "--rank_list", "0", "--baseline_profiling_path", path, *options)
        assert done.returncode == 0, done.stderr
        database = sqlite3.connect(tmp_path / "out/cluster_analysis_output/cluster_analysis.db")
        database.row_factory = sqlite3.Row
        names = database.execute("SELECT name FROM sqlite_master").fetchall()
        tables = {
            name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]
            for (name,) in names
        }
        database.close()
        return tables, done

    return run


@pytest.fixture(name="alike")
def make_alike(tmp_path):
    path = tmp_path / "alike.sqlite"
    file = NsysFile(path)
    for more in (0, 1):
        for op, ns in (("aten::p1", 40), ("aten::p2", 60), ("aten::p3", 50)):
            file.call([*NET, "AdaptiveAvgPool2dLinear"], op, [("k", ns + more)])
        kernels = [("cutlass", 900 + more), ("cutlass_b", 901 + more)]
        file.call([*NET, "SequentialLinear", "Linear"], "aten::mm, op_id = 4", kernels)
        file.call([*NET, "SequentialLinear", "Linear"], None, [("bare", 50 + more)])
        file.call([], "aten::outside", [("dropped", 3000)])
        file.call(["no module"], "aten::outside", [("dropped", 3000)])
    file.range("Linear never closed", 5, None, 999, is_number=False)
    file.close()
    return path


def test_modules_with_similar_names_are_adjacent(alike, calibrate):
    tables, done = calibrate(alike, "--dump_intermediate_results")
    assert set(tables) == {"CompareProfileReportRank0", "NPUProfileRank0", "GPUProfileRank0"}
    rows = tables["CompareProfileReportRank0"]
    pool = [row for row in rows if row["(GPU) Module"] == "AdaptiveAvgPool2dLinear"]
    reported = [
        (row["(NPU) Module"], row["Match Type"], row["(NPU) Op Name"], row["(GPU) Op Name"],
         row["(GPU) Total Kernel Duration(us)"], row["(NPU/GPU) Module Time Ratio"])
        for row in pool
    ]  # fmt: skip
    backward = "aclnnAdaptiveAvgPool2dBackward"
    assert reported == [
        ("AdaptiveAvgPool2d", "fuzzy", "aclnnAdaptiveAvgPool2d", "aten::p2", "0.121", "420.01"),
        ("[Backward]AdaptiveAvgPool2d", "fuzzy", backward, "aten::p3", "0.101", "420.01"),
        ("AdaptiveAvgPool2dLinear", " ", " ", "aten::p1", "0.081", "420.01"),
    ]
    of_gpu = {row["Op Name"]: row for row in tables["GPUProfileRank0"]}
    assert of_gpu["aten::mm"] == {
        "Parent Module": "/DistributedDataParallelLinear/AlexNetLinear/SequentialLinear",
        "Module": "Linear", "Op Name": "aten::mm", "Op Count": 4,
        "Kernel List": "cutlass_b, cutlass", "Total Kernel Duration(us)": 3.604,
        "Avg Kernel Duration(us)": 0.901,
    }  # fmt: skip
    assert of_gpu["None"]["Kernel List"] == "bare"
    assert "aten::outside" not in of_gpu
    assert "13 of 15 modules were found on the GPU" in done.stdout


def test_names_that_have_to_be_equal_are_not_taken_for_one_another(alike, calibrate):
    tables, done = calibrate(alike, "--fuzzy_threshold", "0")
    assert set(tables) == {"CompareProfileReportRank0"}
    kinds = {row["Match Type"] for row in tables["CompareProfileReportRank0"]}
    assert kinds == {"rule", " "}
    assert "no name of its 15 modules matches a module of the GPU" in done.stdout


def test_tables_of_ranks_of_an_earlier_run_go(folder, run_sonde, calibrate, tmp_path):
    path = tmp_path / "gpu.sqlite"
    write_recorded(path)
    words = ("cluster", "-d", folder, "-o", tmp_path / "out")
    (tmp_path / "out/cluster_analysis_output").mkdir(parents=True)
    (tmp_path / "out/cluster_analysis_output/cluster_analysis.db").write_bytes(b"")
    done = run_sonde(*words, "-m", "calibrate_npu_gpu", "--baseline_profiling_path", path)
    assert done.returncode == 0
    assert "no device with the number of rank 2,3,4,5,6,7: not compared" in done.stderr
    assert run_sonde(*words, "-m", "hccl_sum").returncode == 0
    tables, _ = calibrate(path)
    assert {"CompareProfileReportRank0", "HcclAllRankStats"} <= set(tables)
    assert "CompareProfileReportRank1" not in tables


def test_in_text_it_is_a_workbook_for_each_rank(folder, run_sonde, tmp_path):
    path = tmp_path / "gpu.sqlite"
    write_recorded(path)
    done = run_sonde(
        "cluster", "-d", folder, "-o", tmp_path, "-m", "calibrate_npu_gpu", "--export_type", "text",
        "--baseline_profiling_path", path, "--dump_intermediate_results",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    books = tmp_path / "cluster_analysis_output" / "CalibrateNpuGpu"
    assert {book.name for book in books.iterdir()} == {
        f"{name}_{rank}.xlsx"
        for name in ("compare_profile_report", "npu_report", "gpu_report") for rank in (0, 1)
    }  # fmt: skip
    with zipfile.ZipFile(books / "compare_profile_report_0.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        texts = book.read("xl/sharedStrings.xml").decode()
    assert "(GPU) Parent Module" in texts
    assert "rankId" not in texts
    assert "<mergeCell " in sheet


def without_table(path):
    write_recorded(path)
    database = sqlite3.connect(path)
    database.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
    database.close()


def without_modules(path):
    file = NsysFile(path)
    file.call(["Block"], "aten::mm", [("kernel", 5)])
    file.close()


@pytest.mark.parametrize(
    ("write", "printed"),
    [
        (lambda path: None, "is no file: --baseline_profiling_path is what 'nsys export"),
        (lambda path: path.write_text("no database"), "gpu.sqlite"),
        (without_table, "has no table CUPTI_ACTIVITY_KIND_KERNEL: record with 'nsys profile"),
        (without_modules, "has no kernel that was launched inside an NVTX range of a module"),
    ],
    ids=["missing", "garbled", "without a table", "without modules"],
)
def test_a_file_that_does_not_do_is_one_line(write, printed, folder, run_sonde, tmp_path):
    path = tmp_path / "gpu.sqlite"
    write(path)
    words = ("cluster", "-m", "calibrate_npu_gpu", "-d", folder, "-o", tmp_path / "out")
    done = run_sonde(*words, "--baseline_profiling_path", path)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1
    assert printed in errors[0]


def test_the_file_of_the_gpu_is_looked_at_before_ranks_are_read(
    folder, run_sonde, one_error_line, tmp_path
):
    path = tmp_path / "gpu.sqlite"
    without_table(path)
    words = ("cluster", "-m", "calibrate_npu_gpu", "-d", folder, "-o", tmp_path / "out")
    one_error_line(run_sonde(*words, "--baseline_profiling_path", path), 1, "has no table")


def test_without_the_file_of_the_gpu_it_says_what_is_missing(folder, run_sonde, tmp_path):
    done = run_sonde("cluster", "-m", "calibrate_npu_gpu", "-d", folder, "-o", tmp_path)
    assert done.returncode == 1
    assert "Must specify the --baseline_profiling_path parameter" in done.stderr
