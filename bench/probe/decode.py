"""Engine steps of a real vLLM server that is dumped: decode.py VLLM_PYTHON BUILD_FOLDER

One request of 64 tokens at a time on the small model, the best of four: time and CPU time a step.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from vllm_server import Server  # noqa: E402

TOKENS, REPEATS = 64, 4
PROMPT = "def main():\n    import os\n"
ENTRY_POINT = "[vllm.general_plugins]\nsonde = sonde.vllm:register\n"


def cpu_seconds(group):
    """Of all processes of a server."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def installed(folder, build):
    """Environment in which the package and its plug-in are found as if installed."""
    metadata = folder / "site" / "sonde-0.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sonde\nVersion: 0.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINT)
    return {"PYTHONPATH": f"{ROOT / 'python'}:{metadata.parent}", "SONDE_HOME": str(build)}


def measure(title, python, folder, environment, config=None):
    options = ["--no-enable-prefix-caching"]
    if config is not None:
        options += ["--additional-config", json.dumps({"dump_config": config})]
    log = folder / "log"
    with Server(python, folder / "model", log, options=options, environment=environment) as server:
        server.ask(PROMPT, 8)
        best = []
        for _ in range(REPEATS):
            begin, cpu = time.monotonic(), cpu_seconds(server.process.pid)
            server.ask(PROMPT, TOKENS)
            used = cpu_seconds(server.process.pid) - cpu
            best.append(((time.monotonic() - begin) / TOKENS * 1e3, used / TOKENS * 1e3))
    wall, used = (min(values) for values in zip(*best))
    print(f"{title:10} {wall:8.2f} ms a step, {used:8.2f} ms of processors", flush=True)


def main(python, build):
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        folder = Path(place)
        script = ROOT / "examples" / "vllm" / "make_model.py"
        subprocess.run([python, script, folder / "model"], check=True, capture_output=True)
        environment = installed(folder, Path(build).resolve())
        settings = {"task": "statistics", "dump_path": str(folder / "dump")}
        measure("not dumped", python, folder, environment)
        for level in ("mix", "L0"):
            measure(level, python, folder, environment, {**settings, "level": level})
        waiting = {**environment, "SONDE_CONTROL": f"unix:{folder}/control"}
        measure("waiting", python, folder, waiting, {**settings, "level": "mix"})


if __name__ == "__main__":
    main(*sys.argv[1:3])
