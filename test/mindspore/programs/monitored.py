"""Steps that others record: monitored.py dynamic CONFIG OUTPUT (MindSpore's monitor, whose file is
changed in step 3), http ADDRESS (posts to the address in its third and fifth step), killed (kills
itself in the fourth step), marked (ranges of mstx, each around two of the steps 2 to 5)."""

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import decoder

STEPS = 8
net, ids = decoder.make()


def dynamic(config, output):
    from mindspore.profiler import DynamicProfilerMonitor

    monitor = DynamicProfilerMonitor(config, output)
    path = Path(config) / "profiler_config.json"

    def before(step):
        if step == 3:
            changed = json.loads(path.read_text()) | {"start_step": 5, "stop_step": 6}
            path.write_text(json.dumps(changed | {"analyse": True, "analyse_mode": 0}))

    return before, lambda _: monitor.step()


def http(address):
    def before(step):
        path = {2: "/start_profile", 4: "/stop_profile"}.get(step)
        if path:
            request = urllib.request.Request(address + path, data=b"", method="POST")
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == 200

    return before, lambda _: None


def killed():
    return lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == 4 else None, lambda _: None


def marked():
    from mindspore.profiler import mstx

    opened = []

    def before(step):
        if step in (2, 4):
            opened.append(mstx.range_start("iteration"))

    def after(step):
        if step in (3, 5):
            mstx.range_end(opened.pop())

    return before, after


KINDS = {"dynamic": dynamic, "http": http, "killed": killed, "marked": marked}
before_step, after_step = KINDS[sys.argv[1]](*sys.argv[2:])
for number in range(STEPS):
    before_step(number)
    print("result", repr(float(net(ids).asnumpy().sum())))
    after_step(number)
