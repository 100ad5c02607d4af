"""Makes traces of any size in the shape of real ones; the same arguments give the same bytes.

Shapes: `ascend` (a trace_view.json: host operators, vendor calls, kernels, counters, flows; sets of
arguments repeat), `ascend_unique` (the same with numbers that do not repeat), `kineto` (PyTorch's
own profiler on a GPU; sets never repeat).

    python3 bench/import/generate.py --shape kineto --megabytes 500 --output /tmp/trace.json
"""

import argparse
import random
from pathlib import Path

OPS = [
    "add_", "mul", "addmm", "mm", "bmm", "softmax", "layer_norm", "gelu", "view", "reshape",
    "transpose", "empty", "copy_", "sum", "mean", "embedding", "cat", "slice", "select", "linear",
]  # fmt: skip
HOST_PID, HOST_TID = 41234, 41234
CANN_PID, DEVICE_PID, COUNTER_PID = 42223648, 42224000, 42224128
BLOCK_US = 20_000  # of one block of the trace


def ascend_flow(number, begin, end):
    """From a call of the host to its kernel."""
    return (
        f'{{"name": "HostToDevice{number}", "ph": "s", "cat": "HostToDevice", '
        f'"id": "{number << 32}", "pid": {CANN_PID}, "tid": {HOST_TID}, "ts": "{begin}"}}',
        f'{{"name": "HostToDevice{number}", "ph": "f", "id": "{number << 32}", "ts": "{end}", '
        f'"cat": "HostToDevice", "pid": {DEVICE_PID}, "tid": 2, "bp": "e"}}',
    )


def ascend_block(rng, block, unique):
    """Events of one block: 900, four of nine are slices, the others counters and flows."""
    base = 1736408883000000 + block * BLOCK_US
    serial = block * 100 if unique else 0
    events = []

    def at(us):
        return f"{base + us // 1000}.{us % 1000:03d}"

    for i in range(100):
        begin = i * 190_000 + rng.randrange(1000)
        op = OPS[rng.randrange(len(OPS))]
        number = serial + i
        shape = f"{2 ** (i % 6)},{128 * (1 + i % 3)}" if not unique else f"{number},128"
        events.append(
            f'{{"ph": "X", "name": "aten::{op}", "pid": {HOST_PID}, "tid": {HOST_TID}, '
            f'"ts": "{at(begin)}", "dur": {90 + i % 9}.{rng.randrange(1000):03d}, "cat": "cpu_op", '
            f'"args": {{"Sequence number": {number}, "Fwd thread id": 0, '
            f'"Input Dims": "{shape};{shape}", "Input type": "float;float"}}}}'
        )
        events.append(
            f'{{"ph": "X", "name": "Enqueue", "pid": {HOST_PID}, "tid": {HOST_TID}, '
            f'"ts": "{at(begin + 5000)}", "dur": 3.120, "cat": "enqueue", '
            f'"args": {{"correlation_id": {number}}}}}'
        )
        events.append(
            f'{{"name": "AscendCL@aclnn{op.title()}", "pid": {CANN_PID}, "tid": {HOST_TID}, '
            f'"ts": "{at(begin + 9000)}", "dur": 21.25, "args": {{"Thread Id": {HOST_TID}, '
            f'"Mode": "ACL_OP", "level": "acl", "id": "aclnn{op.title()}", "item_id": "0", '
            f'"connection_id": {number}}}, "ph": "X"}}'
        )
        events.append(
            f'{{"name": "aclnn{op.title()}_AiCore_{op.title()}", "pid": {DEVICE_PID}, "tid": 2, '
            f'"ts": "{at(begin + 100_000)}", "dur": 41.{rng.randrange(10**8):08d}, '
            f'"args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, '
            f'"Task Id": {number}, "Batch Id": 0, "Subtask Id": 4294967295, '
            f'"connection_id": {number}}}, "ph": "X"}}'
        )
        events += ascend_flow(block * 100 + i, at(begin + 9000), at(begin + 100_000))
        for name, key in (("HBM 0/Read", "Read(MB/s)"), ("HBM 0/Write", "Write(MB/s)")):
            events.append(
                f'{{"name": "{name}", "ts": "{at(begin)}", "pid": {COUNTER_PID}, "tid": 0, '
                f'"args": {{"{key}": {rng.randrange(10**7) / 1000}}}, "ph": "C"}}'
            )
        events.append(
            f'{{"name": "read_bandwidth", "ts": "{at(begin + 7)}", "pid": {COUNTER_PID + 32}, '
            f'"tid": 0, "args": {{"value": {rng.randrange(1000)}, "acc_id": {i % 4}}}, "ph": "C"}}'
        )
    return ", ".join(events)


def kineto_block(rng, block):
    """Events of one block: ops in ops, calls, kernels, their flows."""
    base = 4458676000000 + block * BLOCK_US
    events = []

    def at(us):
        return f"{base + us // 1000}.{us % 1000:03d}"

    for i in range(100):
        begin = i * 190_000 + rng.randrange(1000)
        op = OPS[rng.randrange(len(OPS))]
        number = (block * 100 + i) * 3
        host = f'"pid": {HOST_PID}, "tid": {HOST_TID}'
        for level in range(3):
            events.append(
                f'{{\n    "ph": "X", "cat": "cpu_op", "name": "aten::{op}{"_impl" * level}", '
                f'{host},\n    "ts": {at(begin + level * 2000)}, '
                f'"dur": {120 - 20 * level}.{rng.randrange(1000):03d},\n    "args": {{\n      '
                f'"External id": {number + level},"Record function id": {number + level}, '
                f'"Sequence number": {number}, "Fwd thread id": 0, "Ev Idx": {number + level}\n'
                f"    }}\n  }}"
            )
        correlation = number + 7
        events.append(
            f'{{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {host},\n'
            f'    "ts": {at(begin + 9000)}, "dur": 12.422,\n    "args": {{\n      '
            f'"External id": {number + 2}, "cbid": 211, "correlation": {correlation}\n    }}\n  }}'
        )
        events.append(
            f'{{\n    "ph": "s", "id": {correlation}, {host}, "ts": {at(begin + 9000)},\n'
            f'    "cat": "ac2g", "name": "ac2g"\n  }}'
        )
        events.append(
            f'{{\n    "ph": "X", "cat": "kernel", "name": "void at::native::{op}_kernel<float, '
            f'4>(int, float*)", "pid": 0, "tid": 7,\n    "ts": {at(begin + 50_000)}, '
            f'"dur": 41.407,\n    "args": {{\n      "External id": {number + 2}, "queued": 0, '
            f'"device": 0, "context": 1,\n      "stream": 7, "correlation": {correlation},\n      '
            f'"registers per thread": 40,\n      "shared memory": 400,\n      "blocks per SM": '
            f'4.740741,\n      "warps per SM": 75.851852,\n      "grid": [512, 1, {i}],\n      '
            f'"block": [512, 1, 1],\n      "est. achieved occupancy %": 75\n    }}\n  }}'
        )
        events.append(
            f'{{\n    "ph": "f", "id": {correlation}, "pid": 0, "tid": 7, '
            f'"ts": {at(begin + 50_000)},\n    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }}'
        )
    return ",\n  ".join(events)


def process_name(pid, name):
    return (
        f'{{"ph": "M", "name": "process_name", "pid": {pid}, "tid": 0, '
        f'"args": {{"name": "{name}"}}}}'
    )


GPU_NAMES = (
    '{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}}, '
    '{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 "}}'
)


def generate(shape, size, output, seed=1):
    """Writes at least `size` bytes."""
    rng = random.Random(seed)
    is_kineto = shape == "kineto"
    with Path(output).open("w", encoding="utf-8") as file:
        if is_kineto:
            written = file.write(
                '{\n  "schemaVersion": 1,\n  "distributedInfo": {"backend": "nccl", "rank": 0, '
                '"world_size": 1},\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": '
                '1711964646000000000,\n  "traceEvents": [\n  '
            )
            written += file.write(GPU_NAMES)
        else:
            written = file.write(
                f"[{process_name(HOST_PID, 'Python')}, "
                f"{process_name(DEVICE_PID, 'Ascend Hardware')}"
            )
        block = 0
        while written < size:
            if is_kineto:
                text = ",\n  " + kineto_block(rng, block)
            else:
                text = ", " + ascend_block(rng, block, shape == "ascend_unique")
            written += file.write(text)
            block += 1
        file.write("]\n}\n" if is_kineto else "]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=("ascend", "ascend_unique", "kineto"), required=True)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--output", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generate(options.shape, options.megabytes * 1e6, options.output, options.seed)


if __name__ == "__main__":
    main()
