"""Reads graph databases and names what two of them have otherwise.

Not compared: dump_data_dir (the reference's machine) and the texts of tool_tip, which changed
between its releases. EucDist is a sum of squares whose order the reference leaves to the machine's
BLAS, so its last digits are compared as numbers.
"""

import json
import math
import sqlite3

NOT_COMPARED = {"dump_data_dir", "stack_id"}


def load(path):
    """{node id: row}, with the stack's text and decoded data; the configuration."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    database.row_factory = sqlite3.Row
    stacks = dict(database.execute("SELECT id, stack_info FROM tb_stack"))
    nodes = {}
    for row in database.execute("SELECT * FROM tb_nodes"):
        node = {key: row[key] for key in row.keys() if key not in NOT_COMPARED}
        node["stack"] = stacks[row["stack_id"]]
        for column in ("input_data", "output_data"):
            node[column] = json.loads(row[column])
        nodes[row["id"]] = node
    config = dict(database.execute("SELECT * FROM tb_config").fetchone())
    del config["tool_tip"]
    return nodes, config


def equal_fields(expected, got):
    """Field names, their order and values; EucDist as a number."""
    if list(expected) != list(got):
        return False
    for name, fields in expected.items():
        if list(fields) != list(got[name]):
            return False
        for key, value in fields.items():
            other = got[name][key]
            if value == other:
                continue
            if key != "EucDist" or not math.isclose(float(value), float(other), rel_tol=1e-12):
                return False
    return True


def differences(expected, got, ignored=()):
    found = []
    assert expected.keys() == got.keys()
    for key, row in expected.items():
        for column, value in row.items():
            if column in ignored:
                continue
            if column in ("input_data", "output_data"):
                same = equal_fields(value, got[key][column])
            else:
                same = value == got[key][column]
            if not same:
                found.append((key, column, value, got[key][column]))
    return found
