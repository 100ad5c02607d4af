"""Results of recipes as tables of `sonde query`, in every form, and findings in words."""

import csv
import io
import json
import zipfile
from xml.etree import ElementTree

import pytest

SPAN = "ascend_pt/text/level1/rank0_ascend_pt"


@pytest.fixture(scope="module")
def span(shared_data):
    path = shared_data / SPAN
    if not path.is_dir():
        pytest.skip(f"needs data: {SPAN} is missing")
    return path


def cells(book):
    """The cells of a workbook's sheet: texts, and numbers as floats."""
    with zipfile.ZipFile(book) as parts:
        sheet = ElementTree.fromstring(parts.read("xl/worksheets/sheet1.xml"))
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    return [
        [
            "".join(c.itertext()) if c.get("t") == "inlineStr" else float(c.findtext(f"{space}v"))
            for c in row
        ]
        for row in sheet.iter(f"{space}row")
    ]


def test_a_result_is_the_table_that_the_tool_of_the_device_wrote(span, run_sonde):
    sql = (
        "SELECT device_id, op_type, core, count, total_ns / 1000 AS total_us, "
        "max_ns / 1000 AS max_us, ratio_percent FROM op_statistic"
    )
    done = run_sonde("query", span, sql, "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    file = span / "ASCEND_PROFILER_OUTPUT/op_statistic.csv"
    with file.open(newline="") as text:
        written = list(csv.DictReader(text))
    assert len(rows) == len(written) > 5
    reported = {(row["op_type"], row["core"]): row for row in rows}
    for row in written:
        ours = reported[row["OP Type"], row["Core Type"]]
        assert int(ours["count"]) == int(row["Count"])
        assert float(ours["max_us"]) == pytest.approx(float(row["Max Time(us)"]), abs=0.0011)
        assert float(ours["ratio_percent"]) == pytest.approx(float(row["Ratio(%)"]), abs=0.001)


def test_every_form_has_the_same_rows(span, run_sonde, tmp_path):
    sql = "SELECT op_type, count, average_ns FROM op_statistic ORDER BY ALL"
    as_json = json.loads(run_sonde("query", span, sql, "--format", "json").stdout)
    rows = [[str(row["op_type"]), row["count"], row["average_ns"]] for row in as_json]
    assert len(rows) > 5
    book = tmp_path / "result.xlsx"
    assert run_sonde("query", span, sql, "--format", "xlsx", "-o", book).returncode == 0
    sheet = cells(book)
    assert sheet[0] == ["op_type", "count", "average_ns"]
    assert [[row[0], row[1], pytest.approx(row[2])] for row in sheet[1:]] == rows
    parquet = tmp_path / "result.parquet"
    assert run_sonde("query", span, sql, "--format", "parquet", "-o", parquet).returncode == 0
    back = run_sonde(
        "query", span, f"FROM '{parquet}' ORDER BY ALL", "--read-files", "--format", "json"
    )
    assert json.loads(back.stdout) == as_json
    moments = "SELECT 'x' AS name, start_ns FROM overlap_analysis LIMIT 1"
    assert run_sonde("query", span, moments, "--format", "xlsx", "-o", book).returncode == 0
    reported = json.loads(run_sonde("query", span, moments, "--format", "json").stdout)[0][
        "start_ns"
    ]
    assert cells(book)[1][1] == str(reported), "no digit is lost"


def test_results_are_listed_and_described(span, run_sonde):
    schema = run_sonde("query", "--schema").stdout
    assert (
        "op_statistic: result: device tasks" in schema and "sum of their durations (ns)" in schema
    )
    columns = run_sonde("query", span, "DESCRIBE step_trace", "--format", "csv").stdout
    assert "computing_ns,BIGINT" in columns


def test_findings_say_what_import_issue_counts(span, run_sonde):
    asked = (
        "SELECT (SELECT count(DISTINCT (code, advice)) FROM import_issue) AS issues, "
        "count(*) AS findings FROM finding WHERE rule = 'import_issue'"
    )
    row = json.loads(run_sonde("query", span, asked, "--format", "json").stdout)[0]
    assert row["issues"] == row["findings"]
    evidence = json.loads(
        run_sonde("query", span, "SELECT evidence FROM finding", "--format", "json").stdout
    )
    for statement in {item["evidence"] for item in evidence if item["evidence"]}:
        shown = run_sonde("query", span, statement, "--format", "csv")
        assert shown.returncode == 0 and len(shown.stdout.splitlines()) > 1, statement
