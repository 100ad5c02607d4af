"""Plants into copies of ranks: clocks of hosts that disagree, waits that nobody measured."""

import json
import sqlite3

TIMES = {
    "TASK": ("startNs", "endNs"),
    "COMMUNICATION_OP": ("startNs", "endNs"),
    "CANN_API": ("startNs", "endNs"),
    "PYTORCH_API": ("startNs", "endNs"),
    "STEP_TIME": ("startNs", "endNs"),
}


def shift(folder, ranks, ns):
    for path in folder.rglob("ascend_pytorch_profiler_*.db"):
        if int(path.stem.rsplit("_", 1)[1]) not in ranks:
            continue
        database = sqlite3.connect(path)
        for table, columns in TIMES.items():
            sets = ", ".join(f"{name} = CAST({name} AS INTEGER) + {ns}" for name in columns)
            database.execute(f"UPDATE {table} SET {sets}")
        database.commit()
        database.close()


def databases(folder):
    """By rank, the first one first."""
    for path in sorted(folder.rglob("ascend_pytorch_profiler_*.db"), key=lambda path: path.name):
        database = sqlite3.connect(path)
        yield int(path.stem.rsplit("_", 1)[1]), database
        database.commit()
        database.close()


def unmeasured(folder):
    """Without what the profiler measured of waits."""
    for path in folder.rglob("analysis.db"):
        path.unlink()


def meet(folder, early, ns):
    """Lets all ranks take part in the same collectives; `early` ones begin `ns` before others."""
    times = []
    for rank, database in databases(folder):
        (name,) = (name for name, group in groups_of(folder).items()
                   if group["group_name"] == "default_group")  # fmt: skip
        database.execute("ALTER TABLE COMMUNICATION_OP ADD COLUMN rankSize INTEGER")
        ours = database.execute(
            """SELECT rowid, CAST(startNs AS INTEGER), CAST(endNs AS INTEGER) FROM COMMUNICATION_OP
            WHERE groupName IN (SELECT id FROM STRING_IDS WHERE value = ?) ORDER BY 2""",
            (name,),
        ).fetchall()
        times = times or [(begin, end) for _, begin, end in ours]
        for (row, _, _), (begin, end) in zip(ours, times, strict=True):
            database.execute(
                "UPDATE COMMUNICATION_OP SET startNs = ?, endNs = ?, rankSize = 8 WHERE rowid = ?",
                (begin - ns if rank in early else begin, end, row),
            )


def groups_of(folder):
    path = next(folder.rglob("profiler_metadata.json"))
    return json.loads(path.read_text())["parallel_group_info"]
