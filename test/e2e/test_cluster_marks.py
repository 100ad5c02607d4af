"""`sonde cluster` on marks of programs: communication operations and parts of a pipeline."""

import json
import re
import shutil

from cluster_results import profiler_of, tables_of

SYNTH = "ascend_pt/synth8_tp_pp_dp"


def test_marks_around_collectives_are_communication_operations(shared_data, run_sonde, tmp_path):
    source = shared_data / SYNTH / "node0_1000_20250109081616713_ascend_pt"
    ranks = tmp_path / "ranks"
    shutil.copytree(source, ranks / source.name)
    for file in ranks.glob("*/*/analysis.db"):
        file.unlink()
    database = profiler_of(ranks, 0)
    database.execute("DROP TABLE COMMUNICATION_OP")
    cursor = database.execute(
        "SELECT m.* FROM MSTX_EVENTS m JOIN STRING_IDS s ON s.id = m.message "
        "WHERE s.value LIKE '%forward%' ORDER BY startNs"
    )
    names = [column[0] for column in cursor.description]
    marks = [dict(zip(names, row, strict=True)) for row in cursor]
    assert len(marks) == 4
    expected = []
    for i, mark in enumerate(marks):
        text = json.dumps(
            {"streamId": "9", "count": str(100 + i), "dataType": "fp32", "groupName": "group",
             "opName": "hcom_allReduce" if i != 1 else "hcom_broadcast"}
        )  # fmt: skip
        if i == 3:
            text = text.replace('"', '\\"')
        database.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (900000 + i, text))
        key = (mark["connectionId"],)
        database.execute(
            f"UPDATE MSTX_EVENTS SET message = {900000 + i} WHERE connectionId = ?", key
        )
        times = "SELECT startNs, endNs FROM TASK WHERE connectionId = ?"
        expected.append(database.execute(times, key).fetchone())
    database.commit()
    database.close()
    done = run_sonde("cluster", "-m", "mstx2commop", "-d", ranks, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = tables_of(tmp_path / "out")["MstxCommunicationOp"]
    assert [(row[2], row[3]) for row in rows] == expected
    assert [row[6] for row in rows] == [100, 101, 102, 103]
    numbers = [re.sub(r"_\d{3}_", "_GGG_", row[1]) for row in rows]
    assert numbers == [
        "hcom_allReduce__GGG_0_1", "hcom_broadcast__GGG_0_1", "hcom_allReduce__GGG_1_1",
        "hcom_allReduce__GGG_2_1",
    ]  # fmt: skip
    assert "the marks contain 4 communication operations of 1 group;" in done.stdout
    # A rank that has the operations itself needs none.
    done = run_sonde("cluster", "-m", "mstx2commop", "-d", shared_data / SYNTH, "-o", tmp_path)
    assert done.returncode == 1
    assert "in a recording without communication operations" in done.stderr


def set_schedule(database, parts):
    """A first stage of two of DualPipeV with four micro batches, and as many parts."""
    info = '{"pp_type": "dualpipev", "microbatch_num": 4}'
    database.execute("UPDATE META_DATA SET value = ? WHERE name = 'pp_info'", (info,))
    select = (
        "FROM MSTX_EVENTS m JOIN TASK t USING (connectionId) JOIN STRING_IDS s ON s.id = m.message "
        "WHERE s.value LIKE '%backward%' ORDER BY t.startNs DESC LIMIT 1"
    )
    (connection,) = database.execute(f"SELECT connectionId {select}").fetchone()
    for table, keys in [("MSTX_EVENTS", ()), ("TASK", ("globalTaskId",))]:
        cursor = database.execute(f"SELECT * FROM {table} WHERE connectionId = ?", (connection,))
        names = [column[0] for column in cursor.description]
        row = dict(zip(names, cursor.fetchone(), strict=True))
        for i in range(1, parts - 7):
            new = dict(row, connectionId=connection + 1000 + i)
            for key in keys:
                new[key] += 100000 + i
            for key in ("startNs", "endNs"):
                new[key] += 2000000 * i
            places = ", ".join("?" * len(names))
            database.execute(f"INSERT INTO {table} VALUES ({places})", list(new.values()))
    database.commit()


def test_a_pipeline_of_two_chunks_has_the_names_of_its_schedule(shared_data, run_sonde, tmp_path):
    source = shared_data / SYNTH / "node0_1000_20250109081616713_ascend_pt"
    for parts in (18, 17):
        ranks = tmp_path / str(parts)
        shutil.copytree(source, ranks / source.name)
        database = profiler_of(ranks, 0)
        set_schedule(database, parts)
        database.close()
        out = tmp_path / f"out{parts}"
        done = run_sonde("cluster", "-m", "pp_chart", "-d", ranks, "-o", out)
        assert done.returncode == 0, done.stderr
        rows = tables_of(out)["StepTaskInfo"]
        assert len(rows) == parts
        if parts == 18:
            assert [(row[1], row[4]) for row in rows[8:12]] == [
                ("logits", 3), ("3F+5B", 3), ("6F+0B", 3), ("logits", 4)
            ]  # fmt: skip
        else:
            assert "17 parts of the pipeline, and the schedule has 18" in done.stderr
            assert {row[1] for row in rows} == {""}
