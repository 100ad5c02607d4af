"""Rules about what the host does, in databases: these name the layer of a call beside it."""

import json
import shutil
import sqlite3

import pytest

LEVEL1 = "ascend_pt/db/level1/rank0_ascend_pt"
COMPILATIONS = 19  # in the recording; from 20 on the rule speaks


class Calls:
    """Of the database: more of them."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.texts = {text: number for number, text in self.all("SELECT id, value FROM STRING_IDS")}
        self.types = {
            name: number for number, name in self.all("SELECT id, name FROM ENUM_API_TYPE")
        }
        ((self.thread,),) = self.all("SELECT globalTid FROM CANN_API LIMIT 1")

    def all(self, sql):
        return self.database.execute(sql).fetchall()

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = max(self.texts.values()) + 1
            self.database.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (self.texts[name], name))
        return self.texts[name]

    def add(self, layer, name, begin_ns, dur_ns):
        self.database.execute(
            "INSERT INTO CANN_API (startNs, endNs, type, globalTid, connectionId, name) VALUES "
            "(?, ?, ?, ?, (SELECT max(connectionId) + 1 FROM CANN_API), ?)",
            (begin_ns, begin_ns + dur_ns, self.types[layer], self.thread, self.text(name)),
        )

    def add_operator(self, name, begin_ns, dur_ns):
        self.database.execute(
            "INSERT INTO PYTORCH_API (startNs, endNs, globalTid, name, type) "
            "VALUES (?, ?, ?, ?, ?)",
            (str(begin_ns), str(begin_ns + dur_ns), self.thread, self.text(name), self.types["op"]),
        )

    def add_collection(self, begin_ns, dur_ns):
        """Of garbage."""
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS GC_RECORD "
            "(startNs INTEGER, endNs INTEGER, globalTid INTEGER)"
        )
        self.database.execute(
            "INSERT INTO GC_RECORD VALUES (?, ?, ?)", (begin_ns, begin_ns + dur_ns, self.thread)
        )

    def ends_of(self, name):
        return [end for (end,) in self.all(
            "SELECT endNs FROM CANN_API c JOIN STRING_IDS s ON s.id = c.name "
            f"WHERE s.value = '{name}'"
        )]  # fmt: skip

    def close(self):
        self.database.commit()
        self.database.close()


@pytest.fixture(name="advised")
def make_advice(shared_data, run_sonde, tmp_path):
    """advised(plant): the advice on the capture, by rule, once plant(calls) was there."""

    def advise(plant):
        trace = shutil.copytree(shared_data / LEVEL1, tmp_path / "rank0_ascend_pt")
        calls = Calls(next(trace.rglob("ascend_pytorch_profiler_0.db")))
        plant(calls)
        calls.close()
        done = run_sonde("advisor", "all", "-d", trace, "-l", "en", "--agent")
        assert done.returncode == 0, done.stderr
        return {one["rule"]: one for one in json.loads(done.stdout)["message"]["advice"]}

    return advise


def test_they_speak_above_their_limits(advised):
    def plant(calls):
        ((first,),) = calls.all("SELECT min(startNs) FROM CANN_API")
        calls.add("acl", "aclopCompileAndExecute", first, 1000)
        for i in range(6):
            calls.add("acl", "aclMallocMemInner", first + i * 2_000_000, 1_700_000)
        for end in calls.ends_of("launch"):
            calls.add("acl", "aclrtSynchronizeStream", end, 100)
        calls.add_collection(first, 40_000_000)
        calls.add_operator("enumerate(DataLoader)#_Iter.__next__", first, 30_000_000)

    printed = advised(plant)
    assert printed["gc_analysis"]["total_time(us)"] == 40_000
    assert printed["dataloader"]["total_time(us)"] == 30_000
    assert printed["timeline_op_dispatch"]["occurrences"] == COMPILATIONS + 1
    assert (printed["memory"]["occurrences"], printed["memory"]["total_time(us)"]) == (6, 10200)
    assert printed["synchronize_stream"]["occurrences"] > 100


def test_they_are_silent_below(advised):
    def plant(calls):
        ((first,),) = calls.all("SELECT min(startNs) FROM CANN_API")
        for i in range(5):
            calls.add("acl", "aclMallocMemInner", first + i * 2_000_000, 1_900_000)
        for end in calls.ends_of("launch")[::3]:
            calls.add("acl", "aclrtSynchronizeStream", end, 100)
        calls.add_operator("enumerate(DataLoader)#_Iter.__next__", first, 9_000_000)

    silent = {"timeline_op_dispatch", "memory", "synchronize_stream", "gc_analysis", "dataloader"}
    assert not silent & advised(plant).keys()
