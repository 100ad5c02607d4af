"""Writes what Nsight Systems exports as SQLite: calls of modules with an operator and its kernels.

Made up after the tables and columns that such an export has; uses nothing of Sonde.
"""

import sqlite3

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
                          textId INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
                                          correlationId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
                                         correlationId INTEGER, demangledName INTEGER);
"""


class NsysFile:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript(SCHEMA)
        self.strings = {}
        self.correlation = 0
        self.now = 1000

    def text(self, value):
        if value not in self.strings:
            self.strings[value] = len(self.strings) + 1
            row = (self.strings[value], value)
            self.database.execute("INSERT INTO StringIds VALUES (?, ?)", row)
        return self.strings[value]

    def range(self, name, begin, end, thread, is_number):
        row = (begin, end, 59, None if is_number else name,
               self.text(name) if is_number else None, thread)  # fmt: skip
        self.database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", row)

    def call(self, modules, op, kernels, device=0):
        """Modules around each other, outermost first; kernels: (name, ns)."""
        begin, end, thread = self.now, self.now + 1000, 70 + device
        for name in modules:
            self.range(name, begin, end, thread, is_number=True)
            begin, end = begin + 5, end - 5
        if op:
            self.range(op, begin, end, thread, is_number=False)
        for place, (kernel, ns) in enumerate(kernels):
            self.correlation += 1
            launch = self.now + 300 + place
            self.database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)",
                (launch, launch + 5, thread, self.correlation),
            )
            self.database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?)",
                (launch + 9000, launch + 9000 + ns, device, self.correlation, self.text(kernel)),
            )
        self.now += 2000

    def close(self):
        self.database.commit()
        self.database.close()


def write_recorded(path):
    """The file of the recorded run of the reference, written again."""
    file = NsysFile(path)
    for device in (0, 1):
        for _ in range(6):
            for module, op, kernel, ns in (
                ("QKVParallelLinear", "aten::mm, op_id = 3", "cutlass_gemm", 107),
                ("RMSNorm", "vllm::rms_norm", "rms_kernel", 307),
                ("RowParallelLinear", "aten::addmm", "sm80_gemm", 207),
            ):
                file.call(["Qwen2Attention", module], op, [(kernel, ns)], device)
    file.close()
