"""`sonde cluster` against what the reference tool made of the same ranks, cell by cell.

Every recorded run of a mode that Sonde has is repeated: its folder names the input and the options.
Rows are compared without their order, numbers to a relative 1e-9, integers and fractions alike.
"""

import csv
import json
import math
import os
import re
import shutil
import sqlite3
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from nsys_writer import write_recorded

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
GOLDEN = Path(os.environ.get("SONDE_SHARED_DATA", SHARED)) / "golden" / "msprof-analyze"
INPUTS = {
    "db/level0": "ascend_pt/db/level0",
    "db/level1": "ascend_pt/db/level1",
    "text/level0": "ascend_pt/text/level0",
    "text/level1": "ascend_pt/text/level1",
    "synth8": "ascend_pt/synth8_tp_pp_dp",
}
# The order in which the reference walks the folders decides how it lists ranks.
LISTS = {"Ranks": ";", "minRank": ", ", "maxRank": ", "}
# Paths of the machine.
LEFT_OUT = {"profilePath"}
# The reference takes these from times that a join has made floating point, a multiple of 256 ns.
COARSE_US = 0.257
COARSE = re.compile(r"(?i)(pytorch|cann) ?idle ?time\(us\)|reason number|task_wait_time")


def golden_runs():
    """(mode, folder of the run) of every recorded run."""
    if not GOLDEN.is_dir():
        return []
    return sorted(
        path.parent
        for path in GOLDEN.glob("*/*/command.txt")
        if "cluster_analysis_output" in {p.name for p in path.parent.iterdir()}
        and path.parent.parent.name not in ("advisor", "compare")
        # Where text is asked for the reference writes a database into the folder of the texts.
        and str(path.parent.relative_to(GOLDEN)) != "communication_group_map/db_level1_text"
    )


def words_of(run):
    """Input and options of the recorded command."""
    command = (run / "command.txt").read_text(encoding="utf-8").strip()
    name = re.search(r"<input: ([^>]+)>", command)[1]
    rest = re.sub(r"-d <[^>]+>|-o <[^>]+>", "", command).split()
    return name, rest[rest.index("cluster") + 1 :]


def copied_ranks(source, target, ranks):
    """A folder with some of the ranks."""
    target.mkdir()
    for facts in sorted(source.glob("*/profiler_info_*.json")):
        if int(facts.stem.rpartition("_")[2]) in ranks:
            shutil.copytree(facts.parent, target / facts.parent.name)
    return target


def on_each_db(folder, pattern, statements):
    databases = sorted(folder.glob(f"*/ASCEND_PROFILER_OUTPUT/{pattern}"))
    assert databases
    for path in databases:
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()


def derived_input(name, synth, target):
    """The inputs that input.txt of the recorded runs describe."""
    if found := re.fullmatch(r"synth8_r(\d+)(_no\w+)?", name):
        copied_ranks(synth, target, {int(digit) for digit in found[1]})
        if found[2]:
            table = {"_nobw": "CommAnalyzerBandwidth", "_notime": "CommAnalyzerTime"}[found[2]]
            on_each_db(target, "analysis.db", [f"DROP TABLE {table}"])
        return target
    if name == "synth8_2steps":
        copied_ranks(synth, target, set(range(8)))
        border = 1736410576460000000
        on_each_db(
            target,
            "ascend_pytorch_profiler_*.db",
            [
                f"INSERT INTO STEP_TIME SELECT 51, {border}, endNs FROM STEP_TIME",
                f"UPDATE STEP_TIME SET endNs = {border} WHERE id = 50",
            ],
        )
        return target
    raise AssertionError(f"no input {name}")


@pytest.fixture(name="input_of")
def make_input(shared_data, tmp_path):
    def find(name):
        if name in INPUTS:
            return shared_data / INPUTS[name]
        return derived_input(name, shared_data / INPUTS["synth8"], tmp_path / "input")

    return find


def csv_rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def db_tables(path):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    names = [
        row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    tables = {}
    for name in names:
        rows = database.execute(f'SELECT * FROM "{name}"')
        tables[name] = [
            {key: "" if row[key] is None else row[key] for key in row.keys()}  # noqa: SIM118
            for row in rows
        ]
    database.close()
    return tables


def number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def sort_key(row):
    texts = tuple(str(cell) if number(cell) is None else "" for cell in row)
    numbers = tuple(float(f"{number(cell):.7g}") if number(cell) is not None else 0 for cell in row)
    return texts, numbers


def comparable(rows, columns):
    cells = []
    for row in rows:
        cells.append(
            [
                ",".join(sorted(str(row[c]).split(LISTS[c]))) if c in LISTS else row[c]
                for c in columns
            ]
        )
    return sorted(cells, key=sort_key)


def equal_cells(ours, theirs):
    a, b = number(ours), number(theirs)
    if a is None or b is None:
        return str(ours) == str(theirs)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def with_number_apart(row):
    """The reason of a row with its number in a column of its own."""
    reason = next((key for key in row if key.lower() == "reason"), None)
    if reason is None:
        return row
    found = re.search(r"[\d.]+(?= us$)", row[reason])
    text = row[reason][: found.start()] if found else row[reason]
    return {**row, reason: text, "reason number": found[0] if found else ""}


def without_shortest(rows):
    """Of gaps of one length at the end of a rank's list the reference takes any."""
    duration = next((key for key in rows[0] if key.lower() == "duration(us)"), None)
    if duration is None:
        return rows
    rank = next(key for key in rows[0] if key.lower().replace(" ", "") == "rankid")
    shortest = {}
    for row in rows:
        key, value = str(row[rank]), float(row[duration])
        shortest[key] = min(value, shortest.get(key, value))
    return [row for row in rows if float(row[duration]) > shortest[str(row[rank])]]


def close_cells(column, ours, theirs):
    a, b = number(ours), number(theirs)
    if COARSE.fullmatch(column) and a is not None and b is not None:
        return abs(a - b) < COARSE_US
    if column == "OpType" and theirs == "N/A" and ours.startswith("hcom_"):
        return True  # at level 0 only the name has the type
    return equal_cells(ours, theirs)


def check_table(name, ours, theirs, has_ties):
    assert theirs, f"{name} of the reference has no rows"
    ours, theirs = ([with_number_apart(row) for row in rows] for rows in (ours, theirs))
    # Of several ranks that are equal it names the first that it walks by.
    names = {"MinRank", "MaxRank", "maxRank", "minRank"} if has_ties else set()
    ties = {c for c in names if c in theirs[0] and number(theirs[0][c]) is not None}
    if name == "MSTXMarkStats":
        ties.add("index")
    columns = [c for c in theirs[0] if c not in LEFT_OUT | ties]
    assert set(theirs[0]) <= set(ours[0]), f"{name}: columns"
    assert len(ours) == len(theirs), f"{name}: rows"
    if name in ("FreeAnalysis", "free_analysis"):
        ours, theirs = without_shortest(ours), without_shortest(theirs)
        assert len(ours) == len(theirs) > 0, f"{name}: rows"
    for mine, their in zip(comparable(ours, columns), comparable(theirs, columns), strict=True):
        for column, a, b in zip(columns, mine, their, strict=True):
            assert close_cells(column, a, b), f"{name}.{column}: {a!r} and not {b!r} in {their}"


def check_json(ours, theirs, where):
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), where
        for key, value in theirs.items():
            check_json(ours[key], value, f"{where}/{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for mine, their in zip(ours, theirs, strict=True):
            check_json(mine, their, where)
    else:
        assert equal_cells(ours, theirs), f"{where}: {ours!r} and not {theirs!r}"


def files_of_texts(golden):
    """The csv files of a recorded text run."""
    return sorted(path for path in golden.rglob("*.csv") if path.parent.name != "tables")


def check_files(output, golden, has_ties):
    """Every csv of a recorded text run; a time in the name of one does not count."""
    for path in golden.glob("*.json"):
        ours = json.loads((output / path.name).read_text(encoding="utf-8"))
        check_json(ours, json.loads(path.read_text(encoding="utf-8")), path.name)
    files = files_of_texts(golden)
    assert files
    for path in files:
        pattern = re.sub(r"\d{14}", "*", str(path.relative_to(golden)))
        found = list(output.glob(pattern))
        assert len(found) == 1, f"{pattern}: {found}"
        check_table(path.stem, csv_rows(found[0]), csv_rows(path), has_ties)


# Tables of ours beside those of the reference.
OWN_TABLES = {"SlowRankCause", "SlowRankWork", "SlowRankArrival"}


@pytest.mark.parametrize("run", golden_runs(), ids=lambda run: f"{run.parent.name}-{run.name}")
def test_a_mode_gives_what_the_reference_gave(run, run_sonde, input_of, tmp_path):
    name, options = words_of(run)
    mode = run.parent.name
    if mode == "calibrate_npu_gpu":
        write_recorded(tmp_path / "gpu_nsys.sqlite")
        options = [str(tmp_path / word) if word.endswith(".sqlite") else word for word in options]
    out = tmp_path / "out"
    done = run_sonde("cluster", "-d", input_of(name), "-o", out, *options)
    assert done.returncode == 0, done.stderr
    output = out / "cluster_analysis_output"
    golden = run / "cluster_analysis_output"
    has_ties = name.startswith("synth8")
    if (golden / "tables").is_dir():
        tables = db_tables(output / "cluster_analysis.db")
        theirs = {path.stem: csv_rows(path) for path in golden.glob("tables/*.csv")}
        assert set(tables) - OWN_TABLES == {name for name, rows in theirs.items() if rows}
        for table, rows in theirs.items():
            if rows:
                check_table(table, tables[table], rows, has_ties)
    else:
        check_files(output, golden, has_ties)


def compared_files():
    """Every file that the tests here read as what has to come out."""
    files = set(GOLDEN.glob("export_summary/*/inplace/*/*.csv"))
    files |= set(GOLDEN.glob("module_statistic/synth8_text/*.xlsx"))
    for mode, (_, table) in IN_TRACES.items():
        files |= set(GOLDEN.glob(f"{mode}/synth8_db/inplace/{table}_*.csv"))
    for run in golden_runs():
        golden = run / "cluster_analysis_output"
        tables = set(golden.glob("tables/*.csv"))
        files |= tables or {*golden.glob("*.json"), *files_of_texts(golden)}
    return files


# Modes of which the reference writes the result into the traces: table, and where it has it.
IN_TRACES = {"p2p_pairing": ("P2PPairing", "COMMUNICATION_OP"),
             "pp_chart": ("StepTaskInfo", "StepTaskInfo")}  # fmt: skip


@pytest.mark.parametrize("mode", IN_TRACES)
def test_what_the_reference_writes_into_traces_is_a_table(mode, shared_data, run_sonde, tmp_path):
    run = GOLDEN / mode / "synth8_db"
    if not run.is_dir():
        pytest.skip("needs data: no recorded run")
    folder = shared_data / INPUTS["synth8"]
    done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    table, theirs = IN_TRACES[mode]
    rows = db_tables(tmp_path / "cluster_analysis_output" / "cluster_analysis.db")[table]
    for rank in range(8):
        expected = csv_rows(run / "inplace" / f"{theirs}_{rank}.csv")
        expected = [row for row in expected if row.get("opConnectionId", "all")]
        assert expected
        check_table(table, [row for row in rows if row["rankId"] == rank], expected, False)


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


# Recorded runs of export_summary, which the reference writes into the traces.
SUMMARIES = ("db_level1_db", "db_level1_text", "synth8_db")


def rank_of_folder(input_folder, name):
    facts = next((input_folder / name).glob("profiler_info_*.json"))
    return facts.stem.rpartition("_")[2]


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries_are_those_of_the_reference_beside_the_traces(
    name, shared_data, run_sonde, tmp_path
):
    run = GOLDEN / "export_summary" / name
    if not run.is_dir():
        pytest.skip("needs data: no recorded run")
    source, options = words_of(run)
    folder = shared_data / INPUTS[source]
    before = sorted(path for path in folder.rglob("*"))
    done = run_sonde("cluster", "-d", folder, "-o", tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert sorted(path for path in folder.rglob("*")) == before
    output = tmp_path / "cluster_analysis_output" / "ExportSummary"
    ranks = sorted((run / "inplace").iterdir())
    assert len(ranks) == len(list(output.iterdir()))
    for rank in ranks:
        ours = output / f"rank_{rank_of_folder(folder, rank.name)}"
        for file in ("api_statistic.csv", "kernel_details.csv"):
            check_table(file, csv_rows(ours / file), csv_rows(rank / file), has_ties=False)
            assert f"{ours / file}\n" in done.stdout


def test_summaries_of_an_earlier_run_go(shared_data, run_sonde, tmp_path):
    """Those of the ranks that are read; a step that no kernel begins in has none."""
    folder = shared_data / INPUTS["synth8"]
    words = ("cluster", "-m", "export_summary", "-d", folder, "-o", tmp_path)
    output = tmp_path / "cluster_analysis_output" / "ExportSummary"
    (output / "rank_3").mkdir(parents=True)
    (output / "rank_3" / "op_statistic.csv").write_text("old")
    done = run_sonde(*words, "--rank_list", "3", "--export_type", "excel")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (output / "rank_3").iterdir()} == {
        "api_statistic.csv", "kernel_details.csv",
    }  # fmt: skip


def sheet_of(path):
    """Cells with their values and styles, merged ranges, widths, heights, and what styles are."""
    with zipfile.ZipFile(path) as book:
        part = {
            name: ElementTree.fromstring(book.read(f"xl/{name}.xml"))
            for name in ("worksheets/sheet1", "sharedStrings", "styles")
        }
    texts = ["".join(item.itertext()) for item in part["sharedStrings"]]
    sheet = part["worksheets/sheet1"]
    cells = {}
    for cell in sheet.iter(f"{MAIN}c"):
        value = cell.findtext(f"{MAIN}v")
        cells[cell.get("r")] = (
            texts[int(value)] if cell.get("t") == "s" else value and float(value),
            cell.get("s"),
        )
    return cells, {
        "merged": sorted(area.get("ref") for area in sheet.iter(f"{MAIN}mergeCell")),
        "widths": [column.attrib for column in sheet.iter(f"{MAIN}col")],
        "heights": [row.get("ht") for row in sheet.iter(f"{MAIN}row")],
        "styles": [
            ElementTree.tostring(part["styles"].find(MAIN + name))
            for name in ("fonts", "fills", "borders", "cellXfs")
        ],
    }


def test_the_workbook_of_modules_looks_like_that_of_the_reference(shared_data, run_sonde, tmp_path):
    run = GOLDEN / "module_statistic" / "synth8_text"
    if not run.is_dir():
        pytest.skip("needs data: no recorded run")
    folder = shared_data / INPUTS["synth8"]
    words = ("cluster", "-m", "module_statistic", "-d", folder, "--export_type", "text")
    assert run_sonde(*words, "-o", tmp_path).returncode == 0
    own = tmp_path / "cluster_analysis_output" / "ModuleStatistic"
    assert len(list(own.glob("module_statistic_*.xlsx"))) == 8
    ours, our_look = sheet_of(own / "module_statistic_0.xlsx")
    theirs, their_look = sheet_of(run / "module_statistic_0.xlsx")
    assert set(ours) == set(theirs)
    for place, (value, style) in theirs.items():
        assert equal_cells(ours[place][0], value), place
        assert ours[place][1] == style, place
    assert our_look == their_look
    # Those of ranks that do not count this time go.
    assert run_sonde(*words, "-o", tmp_path, "--rank_list", "0,1").returncode == 0
    assert len(list(own.glob("module_statistic_*.xlsx"))) == 2


REDUCED = "ascend_pt/qwen3_tp1_pp2"


def test_ranks_of_which_the_only_database_is_that_of_communication(
    shared_data, run_sonde, tmp_path
):
    """The reference takes them for databases, texts beside or not, and does not read what their
    groups are called; the texts of them know it."""
    words = ("cluster", "-m", "all", "-d", shared_data / REDUCED)
    assert run_sonde(*words, "-o", tmp_path / "db").returncode == 0
    output = tmp_path / "db" / "cluster_analysis_output"
    assert [path.name for path in output.iterdir()] == ["cluster_analysis.db"]
    tables = db_tables(output / "cluster_analysis.db")
    # As msprof-analyze 26.2.0 counted them.
    counts = {
        "ClusterStepTraceTime": 4, "CommunicationGroupMapping": 12, "ClusterCommunicationTime": 100,
        "ClusterCommunicationBandwidth": 183, "ClusterCommunicationMatrix": 376,
        "ClusterBaseInfo": 1,
    }  # fmt: skip
    rows = {name: len(tables[name]) for name in tables if name not in OWN_TABLES}
    assert rows == counts
    step = next(row for row in tables["ClusterStepTraceTime"] if row["index"] == "3")
    assert (step["computing"], step["pp_index"]) == (401131.7, 1)
    assert {(row["group_id"], row["pg_name"]) for row in tables["CommunicationGroupMapping"]} == {
        ("", "")
    }
    assert run_sonde(*words, "-o", tmp_path / "t", "--export_type", "text").returncode == 0
    groups = json.loads(
        (tmp_path / "t" / "cluster_analysis_output" / "communication_group.json").read_text()
    )
    assert "pp" in {group["pg_name"] for group in groups["comm_group_parallel_info"]}


def test_quartiles_of_a_rank_are_rounded_as_sqlite_rounds(shared_data, run_sonde, tmp_path):
    """Quarters of a nanosecond: away from zero."""
    folder = shutil.copytree(shared_data / INPUTS["db/level1"], tmp_path / "ranks")
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    on_each_db(
        folder,
        "ascend_pytorch_profiler_*.db",
        [
            "DELETE FROM CANN_API WHERE rowid NOT IN (SELECT rowid FROM CANN_API LIMIT 2)",
            "UPDATE CANN_API SET name = (SELECT name FROM CANN_API LIMIT 1)",
            "UPDATE CANN_API SET endNs = startNs + 1000",
            "UPDATE CANN_API SET endNs = endNs + 1 WHERE rowid = (SELECT max(rowid) FROM CANN_API)",
        ],
    )
    words = ("cluster", "-m", "cann_api_sum", "-d", folder, "-o", tmp_path / "out")
    assert run_sonde(*words).returncode == 0
    tables = db_tables(tmp_path / "out" / "cluster_analysis_output" / "cluster_analysis.db")
    for row in tables["CannApiSumRank"]:
        assert (row["Q1Ns"], row["medNs"], row["Q3Ns"]) == (1000.3, 1000.5, 1000.8)
