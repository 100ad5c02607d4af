"""What work is has one answer: the same trace asked by every command that sums it up."""

import csv
import json
import re

import pytest

STEPS = 4
PRODUCT_US = 10_000
REDUCE_US = 5_000


def write(path, kernel, op, reduce_us=REDUCE_US):
    """Steps of a product of matrices and one kernel behind it, which nothing hides."""
    events = []
    ts = 1000

    def add(category, name, begin, dur, pid, tid, **args):
        events.append(
            {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": dur, "pid": pid,
             "tid": tid, "args": args}
        )  # fmt: skip

    for step in range(STEPS):
        begin = ts
        works = (("sgemm", PRODUCT_US, "aten::mm"), (kernel, reduce_us, op))
        for i, (name, dur, operator) in enumerate(works):
            number = 2 * step + i + 1
            add("cpu_op", operator, ts - 50, 20, 100, 1, **{"External id": number})
            add("cuda_runtime", "cudaLaunchKernel", ts - 45, 5, 100, 1, correlation=number)
            numbers = {"External id": number, "correlation": number, "device": 0, "stream": 7}
            add("kernel", name, ts, dur, 0, 7, **numbers)
            ts += dur
        add("user_annotation", f"ProfilerStep#{step}", begin - 60, ts - begin + 50, 100, 1)
        ts += 100
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    head = {"schemaVersion": 1, "deviceProperties": devices, "traceEvents": events}
    path.write_text(json.dumps(head), encoding="utf-8")
    return path


KERNELS = [
    ("void vllm::cross_device_reduce_1stage<float, 2>(int)", "mine::op", True),
    ("void quickreduce::allreduce_prototype_twoshot<int, int>(int)", "mine::op", True),
    ("a_kernel_nobody_knows", "_C_custom_ar::all_reduce", True),
    ("void my_library::all_reduce_like_softmax<float>(int)", "mine::op", False),
    ("triton_poi_fused_all_reduce_mul_0", "mine::op", False),
]


@pytest.mark.parametrize(("kernel", "op", "communicates"), KERNELS)
def test_every_command_says_the_same(kernel, op, communicates, run_sonde, tmp_path):
    trace = write(tmp_path / "rank0.pt.trace.json", kernel, op)
    exposed_us = REDUCE_US if communicates else 0
    computing_us = PRODUCT_US + REDUCE_US - exposed_us
    statement = "SELECT DISTINCT computing_ns, not_overlapped_ns FROM step_trace"
    rows = run_sonde("query", trace, statement, "--format", "csv").stdout.splitlines()
    assert list(csv.reader(rows))[1:] == [[str(1000 * computing_us), str(1000 * exposed_us)]]
    summary = run_sonde("analyse", trace, "-o", tmp_path / "out").stdout
    step = re.search(rf"\n\s+(rank|process) \d+\s+{STEPS}\s+(\S+)\s+(\S+)\s+(\S+)", summary)
    assert step.groups()[1:] == (
        f"{computing_us / 1e3:.3f}", f"{exposed_us / 1e3:.3f}", f"{exposed_us / 1e3:.3f}"
    )  # fmt: skip
    advice = run_sonde("advisor", "all", "-d", trace, "-o", tmp_path / "adv", "-l", "en").stdout
    assert f"Uncovered Communication Time is {STEPS * exposed_us / 1e3}ms" in advice
    assert f"Computing Time is {STEPS * computing_us / 1e3}ms" in advice
    longer = write(tmp_path / "longer.pt.trace.json", kernel, op, 2 * REDUCE_US)
    compared = run_sonde("compare", "-d", longer, "-bp", trace, "-o", tmp_path / "cmp").stdout
    cause = "communication that nothing hides" in compared
    assert cause is communicates, compared


USERS = """
kernels:
  my_one_shot_sum: allreduce
never: [my_one_shot_sum_softmax]
"""


@pytest.mark.parametrize(
    ("kernel", "communicates"),
    [("void mine::my_one_shot_sum<float>(int)", True),
     ("void mine::my_one_shot_sum_softmax<float>(int)", False)],
)  # fmt: skip
def test_names_of_users_are_known(kernel, communicates, run_sonde, tmp_path):
    """A trace that was imported without the file is imported again with it, and the other way."""
    trace = write(tmp_path / "rank0.pt.trace.json", kernel, "mine::op")
    names = tmp_path / "names.yaml"
    names.write_text(USERS, encoding="utf-8")

    def exposed_us(**variables):
        statement = "SELECT DISTINCT not_overlapped_ns / 1000 FROM step_trace"
        done = run_sonde("query", trace, statement, "--format", "csv", env=variables)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.splitlines()[1])

    assert exposed_us() == 0
    assert exposed_us(SONDE_COLLECTIVES=str(names)) == (REDUCE_US if communicates else 0)
    assert exposed_us() == 0


def test_file_of_names_that_is_wrong_is_refused_in_one_line(run_sonde, one_error_line, tmp_path):
    trace = write(tmp_path / "rank0.pt.trace.json", "sum", "mine::op")
    names = tmp_path / "names.yaml"
    names.write_text("kernel:\n  a: allreduce\n", encoding="utf-8")
    for path, part in ((names, "'kernel' is not known"), (tmp_path / "none.yaml", "none.yaml")):
        done = run_sonde("query", trace, "SELECT 1", env={"SONDE_COLLECTIVES": str(path)})
        one_error_line(done, 2, part, "SONDE_COLLECTIVES")
