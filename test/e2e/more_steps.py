"""Lets a job of one step run further ones, each a little different, in the databases of its ranks.

As the profiler writes them: other tasks, operations, calls and connections, the same names but for
communication operations, which are counted on.
"""

import random
import re
import sqlite3
from contextlib import closing

APART_NS = 200_000_000
NO_CONNECTION = 4294967295
# Columns that distinguish rows of a table from those of another step.
NUMBERS = {"globalTaskId": 100_000, "opId": 10**9}
CONNECTION = 1_000_000
OPERATIONS = 50  # communication operations of a group in a step, at most
RECORDED = (
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "COMMUNICATION_OP", "CANN_API",
    "PYTORCH_API", "CONNECTION_IDS", "STEP_TIME", "MSTX_EVENTS", "TASK_PMU_INFO",
)  # fmt: skip
ANALYSED = ("CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix", "StepTraceTime")
VARYING = {"transit_time", "wait_time", "elapse_time", "computing", "free", "communication"}


def rows_of(database, table):
    names = [fact[1] for fact in database.execute(f"PRAGMA table_info({table})")]
    return [
        dict(zip(names, row, strict=True)) for row in database.execute(f"SELECT * FROM {table}")
    ]


def insert(database, table, row):
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def counted_on(name, step):
    """Hcom_allReduce__210_3_1 of the first step is hcom_allReduce__210_53_1 of the next."""
    if name.startswith("ProfilerStep#"):
        return f"ProfilerStep#{int(name.partition('#')[2]) + step}"
    operation, at, group = name.partition("@")
    match = re.fullmatch(r"(hcom_\w+?__\d+_)(\d+)(_\d+)", operation)
    if match is None:
        return name
    return f"{match[1]}{int(match[2]) + step * OPERATIONS}{match[3]}{at}{group}"


class Texts:
    """Of STRING_IDS."""

    def __init__(self, database):
        self.database = database
        self.texts = dict(database.execute("SELECT id, value FROM STRING_IDS"))
        self.numbers = {text: number for number, text in self.texts.items()}

    def counted_on(self, number, step):
        text = counted_on(self.texts[number], step)
        if text not in self.numbers:
            self.numbers[text] = max(self.texts) + 1
            self.texts[self.numbers[text]] = text
            self.database.execute(
                "INSERT INTO STRING_IDS VALUES (?, ?)", (self.numbers[text], text)
            )
        return self.numbers[text]


def recorded_row(table, row, step, texts, numbers):
    row = dict(row)
    for column in ("startNs", "endNs"):
        if row.get(column) is not None:
            row[column] = type(row[column])(int(row[column]) + step * APART_NS)
    if table in ("TASK", "COMMUNICATION_OP", "CANN_API") and numbers.random() < 0.3:
        row["endNs"] += numbers.randrange(2000)
    for column, offset in NUMBERS.items():
        if column in row:
            row[column] += step * offset
    if table in ("STEP_TIME", "CONNECTION_IDS"):
        row["id"] += step * (CONNECTION if table == "CONNECTION_IDS" else 1)
    if row.get("connectionId") not in (None, NO_CONNECTION):
        row["connectionId"] += step * CONNECTION
    if table == "PYTORCH_API":
        row["name"] = texts.counted_on(row["name"], step)
    if table == "COMMUNICATION_OP":
        row["opName"] = texts.counted_on(row["opName"], step)
    if table == "COMMUNICATION_TASK_INFO":
        row["name"] = texts.counted_on(row["name"], step)
    return row


def analysed_row(row, step, numbers):
    row = dict(row)
    word, number = re.fullmatch(r"(\D*)(\d+)", row["step"]).groups()
    row["step"] = f"{word}{int(number) + step}"
    for column in {"hccl_op_name", "op_name"} & set(row):
        row[column] = counted_on(row[column], step)
    for column in sorted(VARYING & set(row)):
        if row[column] and numbers.random() < 0.4:
            row[column] = round(row[column] * (1 + 0.3 * numbers.random()), 6)
    if row.get("start_timestamp"):
        row["start_timestamp"] += step * APART_NS / 1000
    return row


def more_steps(folder, count, seed):
    """`count`: of all steps."""
    for path in sorted(folder.glob("*/ASCEND_PROFILER_OUTPUT/*.db")):
        numbers = random.Random(f"{seed} {path.parent.parent.name} {path.name}")
        with closing(sqlite3.connect(path)) as database, database:
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            texts = Texts(database) if "STRING_IDS" in names else None
            for table in RECORDED + ANALYSED:
                rows = rows_of(database, table) if table in names else ()
                for step in range(1, count):
                    for row in rows:
                        insert(database, table, (
                            recorded_row(table, row, step, texts, numbers)
                            if table in RECORDED else analysed_row(row, step, numbers)
                        ))  # fmt: skip
