"""Statistics of one tensor: Sonde's one pass beside torch's four calls and a plain copy."""

import tempfile
import time

import torch
from sonde.torch.precision import _config, _native_probe


def best(function, repeats=7):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    torch.set_num_threads(1)
    config = _config.Config(dump_path="unused")
    functions = _native_probe.functions(torch, config, [], print)
    with tempfile.TemporaryDirectory() as folder:
        functions["open"](folder, "dump.json", '{\n "data": {', None, *[False] * 3, 0)
        print(f"{'type':10} {'MB':>5} {'Sonde GB/s':>11} {'torch x':>8} {'copy GB/s':>10}")
        for megabytes in (4, 64, 256):
            for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64):
                tensor = torch.randn(megabytes * 2**20 // dtype.itemsize).to(dtype)
                target = torch.empty_like(tensor)
                values = (tensor,)
                ours = best(lambda values=values: functions["add"]("x", "a", "i", values, 0))

                def four(tensor=tensor):
                    tensor.max(), tensor.min()
                    if tensor.is_floating_point():
                        tensor.mean(), tensor.norm()

                theirs = best(four)
                copy = best(lambda a=target, b=tensor: a.copy_(b))
                size = megabytes * 2**20 / 1e9
                print(
                    f"{str(dtype)[6:]:10} {megabytes:5} {size / ours:11.1f} {theirs / ours:8.1f} "
                    f"{2 * size / copy:10.1f}"
                )
        functions["close"]()


if __name__ == "__main__":
    main()
