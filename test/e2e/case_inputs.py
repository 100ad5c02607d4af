"""What cases (transcript.py) can have made and written: expressions, in these names.

`prof EXPRESSION` is a Run of prof_writer.py, with all names of the modules that describe runs.
`make EXPRESSION` calls one of the functions that are listed in MAKERS; paths are below the folder.
"""

import json
import re
import sqlite3
import struct
import zipfile
from contextlib import closing
from pathlib import Path

import kineto_writer
import nsys_writer
import planted_clocks
import prof_kinds
import prof_runs
import prof_units
import prof_usage
import prof_writer

PROF = "PROF_000001_20250109081616713_0004200ABCDEFGHA"
NAMES = {**vars(prof_writer), **vars(prof_runs), "struct": struct, "prof": prof_writer,
         "kinds": prof_kinds, "units": prof_units, "usage": prof_usage}  # fmt: skip
MAKERS = {}


def write_prof(expression, folder):
    """Writes what is described; returns the folder's name."""
    run = eval(expression, dict(NAMES))
    prof_writer.write(run, folder / "given" / PROF)
    return f"given/{PROF}"


def maker(function):
    """Lets cases call it: the first argument is the folder of the case."""
    MAKERS[function.__name__] = function
    return function


def call(expression, folder):
    name, _, rest = expression.partition("(")
    assert name in MAKERS, f"there is no {name}: {', '.join(sorted(MAKERS))}"
    words = eval(f"dict_of({rest}", {"dict_of": lambda *a, **k: (a, k)})
    MAKERS[name](Path(folder), *words[0], **words[1])


def contents(folder):
    """All cells of all databases, by table; all other files.

    Of a workbook all but when it was made."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".db":
            with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
                tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                for (table,) in tables.fetchall():
                    found[name, table] = database.execute(f'SELECT * FROM "{table}"').fetchall()
        elif path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                for part in set(book.namelist()) - {"docProps/core.xml"}:
                    found[name, part] = book.read(part)
        elif path.is_file():
            found[name] = path.read_bytes()
    assert found, f"{folder} holds nothing"
    return found


def profilers_of(ranks):
    return sorted(ranks.glob("*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db"))


@maker
def known_by(folder, ranks, facts):
    """Leaves of what shows how many ranks there were this alone: a file, the sizes in it, groups in
    the database, or nothing."""
    for path in sorted((folder / ranks).rglob("profiler_metadata.json")):
        if facts == "profiler_metadata.json":
            continue
        known = json.loads(path.read_text())
        path.unlink()
        (profiler,) = path.parent.rglob("ascend_pytorch_profiler_*.db")
        with closing(sqlite3.connect(profiler)) as database, database:
            database.execute("DELETE FROM META_DATA WHERE name IN "
                             "('distributed_args', 'parallel_group_info')")  # fmt: skip
            if facts == "sizes alone":
                path.write_text(json.dumps({"distributed_args": known["distributed_args"]}))
            if facts == "database":
                groups = json.dumps(known["parallel_group_info"])
                statement = "INSERT INTO META_DATA VALUES ('parallel_group_info', ?)"
                database.execute(statement, (groups,))


@maker
def shift(folder, ranks, numbers, ns):
    """Clocks of these ranks that are so far ahead."""
    planted_clocks.shift(folder / ranks, set(map(int, numbers)), ns)


def rows_with_names(database, statement, *values):
    cursor = database.execute(statement, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


@maker
def marked_collectives(folder, ranks):
    """In place of communication operations marks with what they hold; the last one is escaped."""
    for path in (folder / ranks).glob("*/*/analysis.db"):
        path.unlink()
    with closing(sqlite3.connect(profilers_of(folder / ranks)[0])) as database, database:
        database.execute("DROP TABLE COMMUNICATION_OP")
        marks = rows_with_names(
            database, "SELECT m.* FROM MSTX_EVENTS m JOIN STRING_IDS s ON s.id = m.message "
            "WHERE s.value LIKE '%forward%' ORDER BY startNs")  # fmt: skip
        assert len(marks) == 4
        for i, mark in enumerate(marks):
            name = "hcom_broadcast" if i == 1 else "hcom_allReduce"
            text = json.dumps({"streamId": "9", "count": str(100 + i), "dataType": "fp32",
                               "groupName": "group", "opName": name})  # fmt: skip
            text = text.replace('"', '\\"') if i == 3 else text
            database.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (900_000 + i, text))
            database.execute("UPDATE MSTX_EVENTS SET message = ? WHERE connectionId = ?",
                             (900_000 + i, mark["connectionId"]))  # fmt: skip


@maker
def dual_pipe(folder, ranks, parts):
    """A first stage of two of DualPipeV with four micro batches, and as many parts."""
    with closing(sqlite3.connect(profilers_of(folder / ranks)[0])) as database, database:
        info = '{"pp_type": "dualpipev", "microbatch_num": 4}'
        database.execute("UPDATE META_DATA SET value = ? WHERE name = 'pp_info'", (info,))
        ((connection,),) = database.execute(
            "SELECT connectionId FROM MSTX_EVENTS m JOIN TASK t USING (connectionId) JOIN "
            "STRING_IDS s ON s.id = m.message WHERE s.value LIKE '%backward%' "
            "ORDER BY t.startNs DESC LIMIT 1"
        )
        for table in ("MSTX_EVENTS", "TASK"):
            of_table = f"SELECT * FROM {table} WHERE connectionId = ?"
            (row,) = rows_with_names(database, of_table, connection)
            for i in range(1, parts - 7):
                new = dict(row, connectionId=connection + 1000 + i)
                if table == "TASK":
                    new["globalTaskId"] += 100_000 + i
                for key in ("startNs", "endNs"):
                    new[key] += 2_000_000 * i
                places = ", ".join("?" * len(new))
                database.execute(f"INSERT INTO {table} VALUES ({places})", list(new.values()))


@maker
def new_files(folder, *names):
    """Beside the slices of the PROF_* folder."""
    for name in names:
        (folder / "given" / PROF / name).write_text("{}")


@maker
def behead(folder, name, size):
    """Aging deletes from the head."""
    path = folder / "given" / PROF / "host/data" / name
    path.write_bytes(path.read_bytes()[size:])


@maker
def other_text(folder, text):
    """Lets the dictionary have another text of the same number before this one."""
    path = folder / "given" / PROF / "host/data/unaging.additional.hash_dic.slice_0"
    path.write_text(f"{prof_writer.text_hash(text)}:Other\n{path.read_text()}")


@maker
def kineto(folder, name, durations, **options):
    """A trace of the PyTorch profiler (kineto_writer.py); `durations` of KERNELS, or by name."""
    if not isinstance(durations, dict):
        durations = dict(zip(kineto_writer.KERNELS, durations, strict=False))
    kineto_writer.write_trace(folder / name, durations, **options)


@maker
def many(folder, name, factor=1, shapes=((8, 8),), **more):
    """A trace of ten kernels on a machine on which all takes so much longer, and some work more."""
    kineto_writer.write_trace(folder / name, kineto_writer.slower(factor, **more), shapes=shapes)


@maker
def with_call(folder, name, call, dur):
    kineto_writer.with_call(folder / name, call, dur)


@maker
def documented_recipe(folder):
    """The recipe of docs/cluster.md, as recipes/longest_kernels."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()
    section = text[text.index("## Recipes of your own") :]
    place = folder / "recipes" / "longest_kernels"
    place.mkdir(parents=True)
    for name in ("recipe.json", "rank.sql", "reduce.sql", "say.sql"):
        found = re.search(f"`{name}`.*?```[a-z]+\n(.*?)```", section, re.DOTALL)
        (place / name).write_text(found.group(1))


NET = ["DistributedDataParallelLinear", "AlexNetLinear"]


@maker
def nsys_alike(folder, name):
    """Modules of a GPU whose names are like those of the ranks."""
    file = nsys_writer.NsysFile(folder / name)
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


@maker
def nsys_recorded(folder, name, without=None):
    """What was recorded on a GPU; without a table."""
    nsys_writer.write_recorded(folder / name)
    if without is not None:
        with closing(sqlite3.connect(folder / name)) as database:
            database.execute(f"DROP TABLE {without}")


@maker
def nsys_without_modules(folder, name):
    file = nsys_writer.NsysFile(folder / name)
    file.call(["Block"], "aten::mm", [("kernel", 5)])
    file.close()


@maker
def events(folder, name, rank, names):
    """A trace of the PyTorch profiler with operators of these names, 5 us each every 10 us."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    trace = {"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": i * 10, "dur": 5}
        for i, name in enumerate(names)
    ]}  # fmt: skip
    if rank is not None:
        trace["distributedInfo"] = {"rank": rank}
    path.write_text(json.dumps(trace))


@maker
def exported(folder, name, names):
    """A timeline of the device tool: calls of the host's library, by name."""
    labels = (("name", "CANN"), ("labels", "CPU"), ("sort_index", 1))
    found = [{"ph": "M", "name": f"process_{key}", "pid": 5, "tid": 0, "args": {key: value}}
             for key, value in labels]  # fmt: skip
    found += [{"ph": "X", "name": call, "pid": 5, "tid": 1, "ts": f"{100 + at}.0", "dur": 1.5,
               "args": {"level": "acl", "connection_id": at}}
              for at, call in enumerate(names)]  # fmt: skip
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(found))


@maker
def growing_ranks(folder, count):
    """Rank n has n + 1 operators."""
    for rank in range(count):
        events(folder, f"job/rank{rank}.json", rank, ["op"] * (rank + 1))
