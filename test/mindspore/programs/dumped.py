"""The example of the shared dumps: dumped.py EXAMPLE_FOLDER LEVEL TASK SUMMARY PERTURB DUMP_FOLDER.
Prints the loss."""

import sys

sys.path.insert(0, sys.argv[1])

import mindspore as ms  # noqa: E402
import numpy as np  # noqa: E402
from llm_like import weights  # noqa: E402
from llm_ms import LLM  # noqa: E402
from mindspore import Tensor, mint  # noqa: E402

SHAPE = (64, 32, 4, 2, 48, 1)


def main(level, task, summary, perturb, folder):
    net = LLM(*SHAPE)
    given = weights(int(perturb), *SHAPE)
    for name, parameter in net.parameters_and_names():
        parameter.set_data(Tensor(given[name]))
    ids = Tensor((np.arange(8).reshape(1, 8) * 3 % 64).astype(np.int64))
    run = ms.value_and_grad(lambda x: mint.mean(mint.square(net(x))), None, net.trainable_params())
    plain = run(ids)
    if level != "none":
        from msprobe.mindspore import PrecisionDebugger

        debugger = PrecisionDebugger(task=task, dump_path=folder, level=level)
        debugger.config.summary_mode = summary
        debugger.start(model=net)
        loss, found = run(ids)
        debugger.stop()
        debugger.step()
        assert loss == plain[0]
        # Around cells MindSpore sums the gradients of what several of them read in another order.
        for one, other in zip(found, plain[1]):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-7)
        again = [value.asnumpy().tobytes() for value in run(ids)[1]]
        assert again == [value.asnumpy().tobytes() for value in plain[1]], "left behind"
    print("result", repr(float(plain[0].asnumpy())))


if __name__ == "__main__":
    main(*sys.argv[2:])
