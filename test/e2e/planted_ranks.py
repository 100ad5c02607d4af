"""Writes the databases of a job of `planted_job` as Ascend's profiler would have recorded it.

Kernels with shapes, calls that launch them, framework operators, collectives with their times of
transfer, steps, frequencies. Uses nothing of Sonde.
"""

import json
import sqlite3
from pathlib import Path

from planted_job import BEGIN_NS, MHZ, Simulation, double_hash

SCHEMA = {
    "NPU_INFO": "id INTEGER, name TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER, endTimeNs INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "ENUM_HCCL_DATA_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_API_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "AICORE_FREQ": "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, "
    "globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, "
    "streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, "
    "mixBlockDim INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, "
    "inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, "
    "outputShapes INTEGER, attrInfo INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, "
    "groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, "
    "algType INTEGER, count NUMERIC, opType INTEGER",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, "
    "connectionId INTEGER PRIMARY KEY, name INTEGER",
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, "
    "name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, "
    "inputShapes INTEGER, callchainId INTEGER, type INTEGER",
    "GC_RECORD": "startNs INTEGER, endNs INTEGER, globalTid INTEGER",
}
ANALYSIS_SCHEMA = {
    "StepTraceTime": "step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, "
    "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC",
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, "
    "elapse_time NUMERIC, transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, "
    "idle_time NUMERIC, step TEXT, type TEXT",
}
NONE32 = 4294967295
PID = 4242


def insert(database, table, rows):
    rows = list(rows)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


class Writer:
    """The two databases of a rank."""

    def __init__(self, simulation, rank, folder):
        self.job, self.rank, self.out = simulation.job, rank.rank, rank.out
        self.simulation, self.ranked = simulation, rank
        clock = simulation.clock_us[rank.rank]
        self.ns = lambda us: BEGIN_NS + round((us + 5000 + clock) * 1000)
        self.texts = {}
        self.connections = 0
        self.folder = folder / f"rank{rank.rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        self.folder.mkdir(parents=True)

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts))

    def open(self, name, schema):
        database = sqlite3.connect(self.folder / name, isolation_level=None)
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        for table, columns in schema.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        return database

    def write(self):
        database = self.open(f"ascend_pytorch_profiler_{self.rank}.db", SCHEMA)
        self.write_facts(database)
        self.write_device(database)
        self.write_host(database)
        insert(database, "STRING_IDS", [(i, text) for text, i in self.texts.items()])
        database.execute("COMMIT")
        database.close()
        self.write_analysis()
        info = {"rank_id": self.rank, "config": {"experimental_config": {}, "common_config": {}}}
        path = self.folder.parent / f"profiler_info_{self.rank}.json"
        path.write_text(json.dumps(info), encoding="utf-8")

    def write_facts(self, database):
        out, ns = self.out, self.ns
        groups = {}
        for kind, lists in self.simulation.groups.items():
            for ranks in lists:
                if self.rank in ranks and len(ranks) > 1:
                    groups[f"10.0.0.1%eth0_60000_{kind}_{ranks[0]}"] = {
                        "group_name": kind, "group_rank": ranks.index(self.rank),
                        "global_ranks": ranks,
                    }  # fmt: skip
        insert(database, "META_DATA", [("parallel_group_info", json.dumps(groups))])
        insert(database, "NPU_INFO", [(0, "Ascend910B")])
        insert(database, "HOST_INFO", [(f"uid{self.rank // 8}", f"host{self.rank // 8}")])
        insert(database, "RANK_DEVICE_MAP", [(self.rank, 0)])
        insert(database, "SESSION_TIME_INFO", [(ns(-1000), ns(out.steps[-1][2] + 1000))])
        insert(database, "STEP_TIME", [(n, ns(a), ns(b)) for n, a, b in out.steps])
        insert(database, "ENUM_HCCL_DATA_TYPE", [(4, "FP32")])
        insert(
            database, "ENUM_API_TYPE",
            [(10000, "node"), (50001, "op"), (50002, "queue"), (50003, "trace")],
        )  # fmt: skip
        if self.job.has_frequency:
            insert(database, "AICORE_FREQ", self.frequencies())

    def frequencies(self):
        rank = self.ranked
        yield 0, self.ns(-900), MHZ
        if rank.is_planted and self.job.cause == "frequency":
            begin = self.out.steps[self.job.since][1]
            yield 0, self.ns(begin), round(MHZ / (1 + rank.frequency_loss()))

    def connection(self):
        self.connections += 1
        return self.connections

    def write_device(self, database):
        tasks, kernels, calls, operations = [], [], [], []
        ns, text = self.ns, self.text

        def add_task(begin, end, launch, kind, stream=2):
            connection = self.connection()
            calls.append((ns(launch), ns(launch) + 2000, 10000, PID << 32 | 1, connection,
                          text("launch")))  # fmt: skip
            tasks.append((ns(begin), ns(end), 0, connection, len(tasks), PID, text(kind), NONE32,
                          stream, len(tasks), NONE32))  # fmt: skip
            return len(tasks) - 1

        for number, (kind, shapes, core, begin, end, launch) in enumerate(self.out.tasks):
            vector = core == "AI_VECTOR_CORE"
            task = add_task(begin, end, launch, "KERNEL_AIVEC" if vector else "KERNEL_AICORE")
            none = text("N/A")
            kernels.append((text(f"{kind}_{number}"), task, 24, 0, text(core), text(kind), none,
                            text("FLOAT"), text(shapes), none, none, none, none))  # fmt: skip
        for begin, end, launch in self.out.copies:
            add_task(begin, end, launch, "MEMCPY_ASYNC")
        numbers = {}
        for group, op, begin, end, _, size, launch, _ in self.out.collectives:
            connection = self.connection()
            calls.append((ns(launch), ns(launch) + 2000, 10000, PID << 32 | 1, connection,
                          text("launch")))  # fmt: skip
            number = numbers[group] = numbers.get(group, -1) + 1
            name = f"{op}_{double_hash(group) % 1000:03}_{number}_1"
            operations.append((text(name), ns(begin), ns(end), connection, text(group),
                               len(operations), 0, 0, 4, text("MESH-RING"), size // 4,
                               text(op)))  # fmt: skip
        insert(database, "TASK", tasks)
        insert(database, "COMPUTE_TASK_INFO", kernels)
        insert(database, "CANN_API", calls)
        insert(database, "COMMUNICATION_OP", operations)

    def write_host(self, database):
        rows = []
        for name, begin, end in self.out.slices:
            kind = 50003 if name.startswith(("<built-in", "torch/")) else 50001
            rows.append((str(self.ns(begin)), str(self.ns(end)), PID << 32 | 1, None,
                         self.text(name), None, None, None, None, None, kind))  # fmt: skip
        for number, begin, end in self.out.steps:
            rows.append((str(self.ns(begin)), str(self.ns(end)), PID << 32 | 1, None,
                         self.text(f"ProfilerStep#{number}"), None, None, None, None, None,
                         50001))  # fmt: skip
        insert(database, "PYTORCH_API", rows)
        insert(
            database, "GC_RECORD",
            [(self.ns(begin), self.ns(end), PID << 32 | 1) for begin, end in self.out.gcs],
        )  # fmt: skip

    def write_analysis(self):
        database = self.open("analysis.db", ANALYSIS_SCHEMA)
        numbers, rows = {}, []
        for group, op, begin, end, transit, _, _, wait in self.out.collectives:
            number = numbers[group] = numbers.get(group, -1) + 1
            name = f"{op}_{double_hash(group) % 1000:03}_{number}_1"
            step = next((n for n, a, b in self.out.steps if a <= begin <= b), -1)
            kind = "p2p" if "send" in op or "receive" in op else "collective"
            rows.append((name, str(double_hash(group)), self.ns(begin) / 1000, (end - begin) / 1000,
                         transit / 1000, wait / 1000, wait / 1000, 0, f"step{step}",
                         kind))  # fmt: skip
        insert(database, "CommAnalyzerTime", rows)
        insert(database, "StepTraceTime", self.step_times())
        database.execute("COMMIT")
        database.close()

    def step_times(self):
        """Nothing overlaps here but idle time."""
        for number, begin, end in self.out.steps:
            computing = sum(b - a for *_, a, b, _ in self.out.tasks if begin <= a < end)
            waiting = sum(b - a for _, _, a, b, *_ in self.out.collectives if begin <= a < end)
            received = sum(b - a for _, op, a, b, *_ in self.out.collectives
                           if begin <= a < end and "receive" in op)  # fmt: skip
            free = end - begin - computing - waiting
            yield (str(number), computing, waiting, 0, waiting, free, end - begin, received,
                   waiting - received, 0)  # fmt: skip


def write(job, folder):
    """The folder of a job, for `sonde cluster -d`."""
    folder = Path(folder)
    simulation = Simulation(job)
    simulation.run()
    for rank in simulation.ranks:
        Writer(simulation, rank, folder).write()
    return folder
