"""Deliverables that fill no table of the trace: they are kept all the same, and written again."""

import sqlite3

import ascend_reader as reader
import pytest


@pytest.fixture(name="output")
def make_output(tmp_path):
    folder = tmp_path / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    return folder


def write_steps(path):
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE StepTraceTime (step TEXT, computing NUMERIC, stage NUMERIC)")
        writer.execute("INSERT INTO StepTraceTime VALUES ('7', 2.5, 1e300), (NULL, 3, NULL)")
    writer.close()


def exported(run_sonde, output, tmp_path, kind):
    done = run_sonde("analyse", output.parent, "--export-type", kind, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out" / output.parent.name / output.name


def test_steps_of_a_database(run_sonde, output, tmp_path):
    write_steps(output / "analysis.db")
    again = exported(run_sonde, output, tmp_path, "db") / "analysis.db"
    columns = ("step", "computing", "stage")
    expected = [("7", 2.5, 1e300), (None, 3, None)]
    assert reader.rows_of(reader.open_db(again), "StepTraceTime", *columns) == expected


def test_a_database_whose_tables_are_gone(run_sonde, output, tmp_path):
    """SQLite's table of automatic numbers outlives the tables that had them."""
    write_steps(output / "analysis.db")
    with sqlite3.connect(output / "ascend_pytorch_profiler_0.db") as writer:
        writer.execute("CREATE TABLE passing (id INTEGER PRIMARY KEY AUTOINCREMENT)")
        writer.execute("DROP TABLE passing")
    writer.close()
    folder = exported(run_sonde, output, tmp_path, "db")
    tables = "SELECT name FROM sqlite_master"
    found = reader.open_db(folder / "ascend_pytorch_profiler_0.db").execute(tables).fetchall()
    assert found == [("sqlite_sequence",)]
    assert reader.rows_of(reader.open_db(folder / "analysis.db"), "StepTraceTime", "step")


def test_steps_of_a_table(run_sonde, output, tmp_path):
    content = b"Step,Computing,Stage\r\n7,2.5,9\r\n"
    (output / "step_trace_time.csv").write_bytes(content)
    again = exported(run_sonde, output, tmp_path, "text") / "step_trace_time.csv"
    assert again.read_bytes() == content


def test_no_rows_at_all_is_an_error(run_sonde, output, one_error_line):
    (output / "step_trace_time.csv").write_text("Step,Computing\r\n")
    one_error_line(run_sonde("analyse", output.parent, "-o", output), 1, "holds no records")
