"""The second part of `make demo-vllm`: two servers, one with a weight disturbed, dump two steps
each; where do they first differ?

demo_vllm_dump.py FILE    disturbs the weight in a model.safetensors; for an interpreter with torch
"""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

from vllm_server import Server

WEIGHT = "model.layers.2.mlp.down_proj.weight"
PROMPT = "def main():\n    import os\n"
DIFFERENCES = ("Max diff", "Min diff", "Mean diff", "L2norm diff")


def disturb(path):
    """Doubles some rows of one weight."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    tensors[WEIGHT][:8] *= 2
    save_file(tensors, path, metadata={"format": "pt"})


def dump(show_command, sonde, python, model, folder):
    """Two steps of a server that answers one request."""
    config = folder.with_suffix(".json")
    settings = {"task": "statistics", "level": "mix", "dump_path": str(folder), "step": [0, 1]}
    config.write_text(json.dumps(settings))
    launcher = [sonde, "run", "--dump-config", config, "--"]
    show_command(f"sonde {' '.join(map(str, launcher[1:]))} vllm serve {model} ...")
    with Server(python, model, folder.with_suffix(".log"), launcher) as server:
        print(f"{server.ask(PROMPT, 4)!r}, numbers in {folder}")


def first_difference(folder):
    """File, name and differences of the first row that differs, None where none does."""
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found = {key: row[key] for key in DIFFERENCES if row.get(key) not in ("0.0", "0")}
                found = {key: value for key, value in found.items() if value not in ("N/A", None)}
                if found and row["Bench Name"] != "N/A":
                    return path, row["NPU Name"], found
    return None


def compare_two(show_command, sonde, python, model, folder):
    """The whole part; gives the exit status."""
    disturbed = folder / "disturbed"
    shutil.copytree(model, disturbed)
    subprocess.run([python, __file__, disturbed / "model.safetensors"], check=True)
    print(f"\n{WEIGHT} is disturbed in {disturbed}")
    dumps = folder / "dump"
    dumps.mkdir()
    for name, path in (("golden", model), ("target", disturbed)):
        dump(show_command, sonde, python, path, dumps / name)
    command = ["probe", "compare", "-tp", dumps / "target", "-gp", dumps / "golden", "-o",
               folder / "compared"]  # fmt: skip
    show_command(f"sonde {' '.join(map(str, command))}")
    status = subprocess.run([sonde, *command], check=False).returncode
    found = first_difference(folder / "compared")
    if status != 0 or found is None:
        print("demo-vllm: no difference was found")
        return status or 1
    numbers = ", ".join(f"{key} {value}" for key, value in found[2].items())
    print(f"\nThey first differ in {found[1]} ({numbers}): {found[0]}")
    return 0


if __name__ == "__main__":
    disturb(Path(sys.argv[1]))
