"""Rules about what holds up a GPU, on made traces: each fires at its limit, not just below it."""

import json

import pytest

MS = 1000.0  # a trace of PyTorch counts microseconds


class Made:
    """A trace of one GPU and of the thread that launches its work."""

    def __init__(self):
        self.events = [
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
        ]
        self.calls = 0

    def host(self, name, ts, dur, category="cpu_op", **args):
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 9, "ts": ts, "dur": dur,
             "args": args}
        )  # fmt: skip

    def device(self, name, ts, dur, call, call_ts, call_us, category="kernel"):
        """Work of the device, and the call that launched it."""
        self.calls += 1
        args = {"correlation": self.calls, "External id": self.calls, "device": 0, "stream": 7}
        self.host("aten::launches", call_ts, call_us + 1, **{"External id": self.calls})
        self.host(call, call_ts, call_us, "cuda_runtime", correlation=self.calls)
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
             "args": args}
        )  # fmt: skip
        arrow = {"cat": "ac2g", "name": "ac2g", "id": self.calls}
        self.events.append({**arrow, "ph": "s", "pid": 9, "tid": 9, "ts": call_ts})
        self.events.append({**arrow, "ph": "f", "bp": "e", "pid": 0, "tid": 7, "ts": ts})

    def write(self, folder):
        trace = folder / "made.pt.trace.json"
        devices = [{"id": 0, "name": "NVIDIA A100"}]
        trace.write_text(
            json.dumps(
                {"schemaVersion": 1, "deviceProperties": devices, "traceEvents": self.events}
            )
        )
        return trace


def steps(made, count=3):
    """Steps of 10 ms; the first one, which is warm-up, has the device idle all the time."""
    for i in range(count):
        made.host(f"ProfilerStep#{i}", i * 10 * MS, 10 * MS, "user_annotation")


def waiting(idle_us, doing):
    """Two steps of work of which the second begins so much later."""
    made = Made()
    steps(made)
    made.device("gemm", 10 * MS, 10 * MS, "cudaLaunchKernel", 10 * MS, 5)
    if doing:
        made.host(doing, 20 * MS, idle_us)
    made.device("gemm", 20 * MS + idle_us, 10 * MS - idle_us, "cudaLaunchKernel",
                20 * MS + idle_us, 5)  # fmt: skip
    return made


def copying(host_us, name="Memcpy HtoD (Pageable -> Device)"):
    made = Made()
    steps(made)
    made.device("gemm", 10 * MS, 20 * MS - 1, "cudaLaunchKernel", 10 * MS, 5)
    made.device(name, 29 * MS, 10, "cudaMemcpyAsync", 12 * MS, host_us, "gpu_memcpy")
    return made


@pytest.fixture(name="advice")
def make_advice(run_sonde, tmp_path):
    """advice(trace): the advice of each rule on it."""

    def ask(made, language="en"):
        trace = made.write(tmp_path)
        done = run_sonde("advisor", "all", "-d", trace, "-l", language, "--agent")
        assert done.returncode == 0, done.stderr
        message = json.loads(done.stdout)["message"]
        assert not [silence for silence in message["not_judged"] if "error" in silence]
        return {advice["rule"]: advice for advice in message.get("advice", [])}

    return ask


def test_device_waits(advice):
    assert "device_waits" not in advice(waiting(3999, "aten::sort"))
    found = advice(waiting(4000, "aten::sort"))["device_waits"]
    assert found["total_time(us)"] == found["gain(us)"] == 4000
    assert found["slice"] is not None
    printed = found["description"]
    assert printed.startswith("The device is idle for 20.0 % of the steps, in 1 gaps")
    assert "the host was in aten::sort (100 % of that time)" in printed


def test_a_gap_that_outlasts_the_steps_counts_as_far_as_they_reach(advice):
    """As that between training and the evaluation behind it."""
    made = Made()
    steps(made)
    made.device("gemm", 10 * MS, 15 * MS, "cudaLaunchKernel", 10 * MS, 5)
    made.host("aten::sort", 25 * MS, 500 * MS)
    made.device("gemm", 525 * MS, MS, "cudaLaunchKernel", 525 * MS, 5)
    printed = advice(made)["device_waits"]["description"]
    assert "idle for 25.0 % of the steps" in printed
    assert "the host was in aten::sort (100 % of that time)" in printed


def test_no_long_gap_lies_in_the_steps(advice):
    """What the host did is known of the longest gaps of a trace: here those of its set-up."""
    made = Made()
    steps(made)
    for i in range(102):
        made.device("copy", -300 * MS + i * MS, 1, "cudaMemcpyAsync", -300 * MS + i * MS, 1)
    for i in range(100):
        made.device("small", (10 + 0.2 * i) * MS, 100, "cudaLaunchKernel", (10 + 0.2 * i) * MS, 5)
    found = advice(made)["device_waits"]
    assert (
        "what the host did meanwhile was many things, or was not recorded." in found["description"]
    )
    assert found["slice"] is None


@pytest.mark.parametrize(
    ("doing", "suggested"),
    (
        (None, "Time outside operators is Python"),
        ("cudaMemcpyAsync", "Copy from pinned memory"),
        ("Optimizer.step#AdamW.step", "fused=True"),
    ),
)
def test_what_the_host_did_decides_what_to_do(doing, suggested, advice):
    found = advice(waiting(6000, doing))["device_waits"]
    assert suggested in found["suggestion"]
    assert "3. " not in found["suggestion"], "no advice for other reasons"


def test_pageable_copies(advice):
    assert "pageable_copies" not in advice(copying(1499))
    found = advice(copying(1500))["pageable_copies"]
    assert (found["occurrences"], found["total_time(us)"]) == (1, 1500)
    assert "5.0 % of the time" in found["description"]
    # The device had work all the while: waiting less gains nothing there.
    assert found["gain(us)"] == 0
    assert "pageable_copies" not in advice(copying(5000, "Memcpy HtoD (Pinned -> Device)"))


def synchronising(idle_us, reads=0):
    """Five waits of 2 ms, each until the device is done; it then idles for so long."""
    made = Made()
    steps(made)
    for i in range(5):
        begin = (10 + 4 * i) * MS
        made.device("gemm", begin, 2 * MS, "cudaLaunchKernel", begin, 5)
        made.host("cudaDeviceSynchronize", begin + 10, 2 * MS, "cuda_runtime")
        made.device("gemm", begin + 2 * MS + idle_us, 2 * MS - idle_us, "cudaLaunchKernel",
                    begin + 2.1 * MS, 5)  # fmt: skip
    for i in range(reads):
        made.host("aten::item", (10 + i) * MS, 1)
    return made


def test_waits_cost_what_the_device_idles_behind_them(advice):
    """A device that always has work loses nothing by a host that waits for it."""
    assert "host_synchronisation" not in advice(synchronising(0))
    found = advice(synchronising(1000, reads=3))["host_synchronisation"]
    assert (found["occurrences"], found["gain(us)"]) == (5, 5000)
    assert "3 operators read a value" in found["description"]
    assert (
        "operators read" not in advice(synchronising(1000))["host_synchronisation"]["description"]
    )


def test_both_languages(advice):
    spoke = advice(waiting(6000, None), "cn")
    assert "空闲" in spoke["device_waits"]["description"]
