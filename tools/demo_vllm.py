"""`make demo-vllm`: a vLLM server on two tensor-parallel ranks under Sonde, some requests profiled
over HTTP, and what Sonde found; then numbers of two servers that differ in a weight, and the page,
unless OPEN=0.

demo_vllm.py SONDE PYTHON FOLDER    SONDE: the command; PYTHON: an interpreter that has vLLM
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from demo_vllm_dump import compare_two
from vllm_server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent
PROMPTS = ("def main():\n    import os\n", "class Queue:\n", "for line in file:\n", "import ")
TOKENS = 32


def show_command(text):
    print(f"\n$ {text}", flush=True)


def ask_all(server):
    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        return list(pool.map(lambda prompt: server.ask(prompt, TOKENS), PROMPTS))


def profile_some(server):
    for _ in range(2):  # the first requests of a server compile, for one and for several sequences
        ask_all(server)
    show_command("curl -X POST .../start_profile")
    server.profile("start")
    print(f"{len(ask_all(server))} requests of {TOKENS} tokens")
    show_command("curl -X POST .../stop_profile")
    status, _, seconds = server.profile("stop")
    print(f"{status} after {seconds * 1000:.0f} ms")


def main():
    sonde, python, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = folder / "model"
    show_command(f"python3 examples/vllm/make_model.py {model}")
    subprocess.run([python, ROOT / "examples/vllm/make_model.py", model], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    profiles = folder / "profile"
    launcher = [sonde, "run", "--profile-level", "level1", "--profile-record-shapes",
                "--profile-save-path", profiles, "--"]  # fmt: skip
    show_command(
        f"sonde {' '.join(map(str, launcher[1:]))} vllm serve {model} --tensor-parallel-size 2 ..."
    )
    try:
        with Server(python, model, folder / "server.log", launcher, ranks=2) as server:
            profile_some(server)
        compared = compare_two(show_command, sonde, python, model, folder)
    except ServerError as problem:
        sys.exit(f"demo-vllm: {problem}")
    show_command(f"sonde analyse {profiles}")
    done = subprocess.run([sonde, "analyse", profiles], check=False)
    if done.returncode != 0 or compared != 0:
        return done.returncode or compared
    if os.environ.get("OPEN", "1") == "0":
        print(f"\nTo see it on a page: {sonde} view {profiles}")
        return 0
    show_command(f"sonde view {profiles}")
    return subprocess.run([sonde, "view", profiles], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
