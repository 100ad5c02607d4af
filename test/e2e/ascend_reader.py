"""The contents of Ascend's files, read without any code of the project: csv, sqlite3, json,
Decimal.

Times are integers of nanoseconds; decimal texts never become floating-point numbers.
"""

import csv
import json
import shutil
import sqlite3
from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Decimal

import pytest


def copy_of(source, folder):
    """A copy that may be written to, so that a test sees whether anything was."""
    if not source.is_dir():
        pytest.skip(f"needs data: no {source}")
    shutil.copytree(source, folder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def ns(microseconds):
    """Nanoseconds of a text or number in microseconds, rounded half to even."""
    value = Decimal(str(microseconds).strip()) * 1000
    return int(value.to_integral_value(rounding=ROUND_HALF_EVEN))


def open_db(path):
    """A connection that writes nothing and ignores what lies beside the file."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def columns_of(connection, table):
    """Names of the columns, [] where there is no such table."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info('{table}')")]


def rows_of(connection, table, *columns):
    """Rows of a table; a column that is not there is None; nothing without the table."""
    present = columns_of(connection, table)
    if not present:
        return []
    cells = ", ".join(f'"{c}"' if c in present else "NULL" for c in columns)
    return list(connection.execute(f'SELECT {cells} FROM "{table}"'))


def strings_of(connection):
    """Texts by id."""
    return dict(connection.execute("SELECT id, value FROM STRING_IDS"))


def sums(pairs):
    """{name: (count, sum of durations)} of (name, duration)."""
    result = defaultdict(lambda: [0, 0])
    for name, dur in pairs:
        result[name][0] += 1
        result[name][1] += dur
    return {name: tuple(value) for name, value in result.items()}


def read_csv(path):
    """Rows of a CSV file as dicts; the TAB behind times is taken off."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        return [
            {key: (value or "").rstrip("\t") for key, value in row.items() if key is not None}
            for row in csv.DictReader(file)
        ]


def read_json(path):
    """A JSON file whose decimal numbers stay decimal; a missing last bracket is forgiven."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError:
        return json.loads(text.rstrip().rstrip(",") + "]", parse_float=Decimal)
