"""Ways to record a MindSpore program other than from its start to its end."""

import json
import socket
import subprocess

from conftest import PROGRAMS, all_of_its_kind, clean_environment


def steps_of(rows, span):
    return [row["step_id"] for row in rows(span, "SELECT step_id FROM step ORDER BY ts")]


@all_of_its_kind
def test_the_variable_of_mindspore(run, rows, tmp_path):
    options = {"start": True, "output_path": str(tmp_path / "out"), "activities": ["CPU"],
               "profiler_level": "Level1"}  # fmt: skip
    run("decoder.py", "pynative", 3, MS_PROFILER_OPTIONS=json.dumps(options))
    (span,) = (tmp_path / "out").glob("*_ascend_ms")
    assert (span / "SONDE").is_dir()
    assert rows(span, "SELECT count(*) AS n FROM device_task")[0]["n"] > 100
    assert (span / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").is_file()


@all_of_its_kind
def test_the_monitor_of_mindspore(run, rows, tmp_path):
    done = run("monitored.py", "dynamic", tmp_path, tmp_path / "out")
    assert "Dynamic profiler start at step 5, will stop at step 6" in done.stdout
    (span,) = (tmp_path / "out" / "rank0_start5_stop6").glob("*_ascend_ms")
    assert (span / "SONDE").is_dir()
    assert len(steps_of(rows, span)) == 2
    assert (span / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()


@all_of_its_kind
def test_requests_begin_and_end_it(run, rows):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = run("monitored.py", "http", address, options=("--control", address),
               SONDE_PROFILE_ANALYSE="0")  # fmt: skip
    (span,) = done.spans()
    assert steps_of(rows, span) == [2, 3]


@all_of_its_kind
def test_steps_that_the_program_marks(run, rows):
    options = ("--profile-step-mark", "iteration")
    done = run("monitored.py", "marked", options=options, SONDE_PROFILE_ANALYSE="0")
    (span,) = done.spans()
    assert steps_of(rows, span) == [0, 1]
    sql = ("SELECT step_id, count(*) AS n FROM device_task WHERE op_type = 'Softmax' GROUP BY 1 "
           "ORDER BY 1 NULLS LAST")  # fmt: skip
    found = [(row["step_id"], row["n"]) for row in rows(span, sql)]
    assert found == [(0, 2), (1, 2), (None, 4)]


@all_of_its_kind
def test_ranks_of_its_launcher(run, rows):
    """msrun sets these variables."""
    done = run("decoder.py", "pynative", 2, RANK_ID="3", RANK_SIZE="4")
    (span,) = done.spans()
    facts = dict(
        (row["key"], row["value"]) for row in rows(span, "SELECT key, value FROM metadata")
    )
    assert (facts["rank"], facts["world_size"]) == ("3", "4")
    assert (span / "profiler_info_3.json").is_file()


@all_of_its_kind
def test_forms_read_each_other_back(run, sonde, tmp_path):
    """Text to database to text, and database to text, from one capture."""
    done = run("decoder.py", "graph_train", 2, options=("--profile-level", "level1"), RANK_ID="3",
               RANK_SIZE="4", SONDE_PROFILE_ANALYSE="0")  # fmt: skip
    (span,) = done.spans()

    def analysed(source, name, form):
        command = [sonde, "analyse", source, "-o", tmp_path / name, "--export-type", form]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return tmp_path / name / span.name

    def files(folder):
        output = folder / "ASCEND_PROFILER_OUTPUT"
        names = ("kernel_details.csv", "op_statistic.csv", "step_trace_time.csv")
        return {name: sorted((output / name).read_text().splitlines()) for name in names}

    text, database = analysed(span, "text", "text"), analysed(span, "db", "db")
    assert (database / "ASCEND_PROFILER_OUTPUT" / "ascend_mindspore_profiler_3.db").is_file()
    expected = files(text)
    assert len(expected["step_trace_time.csv"]) == 3
    assert files(analysed(database, "db_text", "text")) == expected
    assert files(analysed(analysed(text, "text_db", "db"), "text_db_text", "text")) == expected


@all_of_its_kind
def test_what_a_killed_program_left_is_read(python, sonde, rows, tmp_path):
    command = [str(sonde), "run", "--", python, str(PROGRAMS / "monitored.py"), "killed"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode != 0 and done.stdout.count("result ") == 4
    (span,) = (tmp_path / "profile").glob("*_ascend_ms")
    assert steps_of(rows, span)[:4] == [0, 1, 2, 3]
    assert rows(span, "SELECT count(*) AS n FROM device_task")[0]["n"] > 100
