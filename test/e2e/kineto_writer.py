"""Traces of the PyTorch profiler with steps of known work, for tests that compare two of them."""

import json

KERNELS = ["ampere_sgemm_128", "vectorized_elementwise_kernel", "reduce_kernel", "softmax_kernel"]
# Ten kernels, of which none is most of the time.
MANY = {f"kernel_{number}": 100 + 10 * number for number in range(10)}


def write_trace(path, durations, jitter=(0, 3, 1, 2, 0, 1), gap=20, shapes=((8, 8),)):
    """A trace of the PyTorch profiler: steps of one launch for each kernel, in microseconds."""
    events = []
    ts = 1000
    for step, more in enumerate(jitter):
        begin = ts
        for number, (name, duration) in enumerate(durations.items()):
            correlation = 100 * step + number + 1
            ids = {"External id": correlation, "correlation": correlation}
            of_op = {**ids, "Input Dims": shapes, "Input type": ["float"]} if shapes else ids
            spot = {"ph": "X", "ts": ts, "pid": 1, "tid": 1}
            events += [
                {**spot, "cat": "cpu_op", "name": f"aten::op{number}", "dur": 8, "args": of_op},
                {
                    **{**spot, "ts": ts + 2, "dur": 4},
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "args": ids,
                },
                {
                    **{**spot, "ts": ts + 10, "dur": duration + more, "pid": 0, "tid": 7},
                    "cat": "kernel",
                    "name": name,
                    "args": {**ids, "stream": 7, "device": 0},
                },
                {"ph": "s", "cat": "ac2g", "id": correlation, "pid": 1, "tid": 1, "ts": ts + 2},
                {
                    **{"ph": "f", "bp": "e", "cat": "ac2g", "id": correlation},
                    **{"pid": 0, "tid": 7, "ts": ts + 10},
                },
            ]
            events[-1]["name"] = events[-2]["name"] = "ac2g"
            ts += duration + more + gap
        events.append(
            {
                **{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}"},
                **{"pid": 1, "tid": 1, "ts": begin, "dur": ts - begin - 1},
            }
        )
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def slower(factor, **more):
    """MANY on a machine on which all takes that much longer, and some work more."""
    return {name: round(time * factor) + more.get(name, 0) for name, time in MANY.items()}


def with_call(path, name, dur):
    """Adds a call of the host that ends each step."""
    trace = json.loads(path.read_text())
    steps = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep")]
    trace["traceEvents"] += [
        {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1,
         "ts": step["ts"] + step["dur"] - 310, "dur": dur, "args": {"correlation": 9000 + i}}
        for i, step in enumerate(steps)
    ]  # fmt: skip
    path.write_text(json.dumps(trace))
