"""Dumps one step of the shared example with the msprobe that is found:
mindspore_live.py EXAMPLE_FOLDER LEVEL DUMP_FOLDER [PACKAGES]. PACKAGES is a folder in which the
installed msProbe lies; without it `sonde run --provide msprobe` gives one. Prints the loss."""

import sys

EXAMPLE, LEVEL, FOLDER, *PACKAGES = sys.argv[1:]
sys.path.insert(0, EXAMPLE)
sys.path += PACKAGES

import mindspore as ms  # noqa: E402
import numpy as np  # noqa: E402
from mindspore import Tensor, mint  # noqa: E402

if PACKAGES:
    # A CPU has no kernel for it; without the name msProbe takes another one.
    del mint.norm

from llm_like import weights  # noqa: E402
from llm_ms import LLM  # noqa: E402
from msprobe.mindspore import PrecisionDebugger  # noqa: E402

SHAPE = (64, 32, 4, 2, 48, 1)


def main():
    net = LLM(*SHAPE)
    given = weights(0, *SHAPE)
    for name, parameter in net.parameters_and_names():
        parameter.set_data(Tensor(given[name]))
    ids = Tensor((np.arange(8).reshape(1, 8) * 3 % 64).astype(np.int64))
    run = ms.value_and_grad(lambda x: mint.mean(mint.square(net(x))), None, net.trainable_params())
    debugger = PrecisionDebugger(task="statistics", dump_path=FOLDER, level=LEVEL)
    debugger.start(model=net)
    loss, _ = run(ids)
    debugger.stop()
    debugger.step()
    print("result", repr(float(loss.asnumpy())))


if __name__ == "__main__":
    main()
