"""What goes wrong in MindSpore programs: bad_days.py KIND.

forked: a child is forked between two steps, as loaders of data do (operators of MindSpore wait
forever in such a child, recorded or not); spawned: two
ranks are spawned; compilation: a function cannot be compiled, and the program goes on; device: the
target of the program is not there; torch FOLDER: torch, which lies there, and MindSpore in one
process; environment: prints what MindSpore's variables hold; killed: runs a compiled graph, and
kills itself when the folder of its capture has the graph."""

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import decoder

STEPS = 3


def steps(count=STEPS):
    net, ids = decoder.make()
    for _ in range(count):
        print("result", repr(float(net(ids).asnumpy().sum())), flush=True)
    return net, ids


def work():
    print("child", sum(range(1000)), flush=True)


def forked():
    net, ids = steps()
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    print("child ended with", child.exitcode, flush=True)
    print("result", repr(float(net(ids).asnumpy().sum())), flush=True)


def rank(number):
    os.environ["RANK_ID"] = str(number)
    os.environ["RANK_SIZE"] = "2"
    steps()


def spawned():
    os.environ["RANK_SIZE"] = "2"
    context = multiprocessing.get_context("spawn")
    ranks = []
    for number in range(2):
        os.environ["RANK_ID"] = str(number)  # before the child imports MindSpore
        ranks.append(context.Process(target=rank, args=(number,)))
        ranks[-1].start()
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0, 0]


def compilation():
    import mindspore as ms
    from mindspore import Tensor

    @ms.jit
    def refused(x):
        return x.there_is_no_such_method()

    steps(1)
    try:
        refused(Tensor(1.0))
    except Exception as problem:  # noqa: BLE001: the class differs between releases
        print("refused", type(problem).__name__, flush=True)
    steps(2)


def device():
    import mindspore as ms

    steps(1)
    ms.set_device("Ascend")


def torch(packages):
    sys.path.append(packages)  # behind MindSpore's own: both need numpy
    import torch as other

    model = other.nn.Linear(4, 4)
    for _ in range(STEPS):
        print("torch", float(model(other.ones(2, 4)).detach().sum()), flush=True)
    steps()


def killed():
    import mindspore as ms

    ms.set_context(mode=ms.GRAPH_MODE)
    print("result", decoder.step_of("graph")().shape, flush=True)
    for _ in range(1200):
        files = [path for path in Path().rglob("profile/*/**/*") if path.is_file()]
        if any(b"kernel_shapes:" in path.read_bytes() for path in files):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)


def environment():
    steps(1)
    for name in ("MS_ALLOC_CONF", "MS_DEV_RUNTIME_CONF", "MS_DEV_SAVE_GRAPHS"):
        print(name, os.environ.get(name), flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
