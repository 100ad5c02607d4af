"""`make demo-gallery`: records the small programs of examples/gallery under Sonde, analyses each,
and opens the page on each (OPEN=0: names the pages only).

demo_gallery.py SONDE PYTHON [VLLM_PYTHON]   PYTHON has torch; without VLLM_PYTHON no server

build/transcripts/gallery.txt keeps each command and what it printed: the documents quote it
(tools/docs_outputs.py). Commands are run in the root of the tree, with relative paths.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from vllm_server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent
STEPS = "--profile-step-start 1 --profile-step-end 10"


@dataclass
class Entry:
    """A recording: commands that make and analyse it, and what the page opens."""

    title: str
    commands: tuple[str, ...]
    page: str = ""  # arguments of `sonde view`; "": dumps of values, which have no page


FOLDER = "demo-gallery"
# `python3` stands for the Python that has torch. These take times: nothing else runs meanwhile.
TIMED = (
    Entry(
        "A training of two ranks, one of which loads its data slowly",
        (
            f"sonde run {STEPS} --profile-with-stack --profile-save-path {FOLDER}/slow-rank --quiet"
            " -- python3 -m torch.distributed.run --standalone --nproc_per_node=2"
            " examples/gallery/slow_rank.py",
            f"sonde cluster -m slow_rank -d {FOLDER}/slow-rank -o {FOLDER}/slow-rank-result",
        ),
        f"{FOLDER}/slow-rank",
    ),
    Entry(
        "A training as a pipeline of two stages",
        (
            f"sonde run {STEPS} --profile-save-path {FOLDER}/pipeline --quiet"
            " -- python3 -m torch.distributed.run --standalone --nproc_per_node=2"
            " examples/gallery/pipeline.py",
            f"sonde cluster -m pp_chart -d {FOLDER}/pipeline -o {FOLDER}/pipeline-result",
        ),
        f"{FOLDER}/pipeline",
    ),
    Entry(
        "A training whose memory grows from step to step",
        (
            "sonde run --profile-with-memory --profile-with-stack --profile-record-shapes"
            f" --profile-save-path {FOLDER}/memory --quiet"
            " -- python3 examples/gallery/memory_growth.py",
            f"sonde advisor all -d {FOLDER}/memory -l en -o {FOLDER}/memory-advice",
        ),
        f"{FOLDER}/memory",
    ),
    Entry(
        "Two versions of a program, the second with unfused attention",
        (
            f"sonde run {STEPS} --profile-record-shapes --profile-save-path {FOLDER}/old --quiet"
            " -- python3 examples/gallery/two_versions.py",
            f"sonde run {STEPS} --profile-record-shapes --profile-save-path {FOLDER}/new --quiet"
            " -- python3 examples/gallery/two_versions.py --change attention",
            f"sonde compare -d {FOLDER}/new -bp {FOLDER}/old -o {FOLDER}/compared",
        ),
        f"{FOLDER}/new --baseline {FOLDER}/old",
    ),
)
# The server starts meanwhile: these take no times.
UNTIMED = (
    Entry(
        "A training whose numbers become NaN",
        (
            "sonde run --dump-config examples/gallery/nan_watch.json"
            " -- python3 examples/gallery/first_nan.py",
            f"cat {FOLDER}/nan/step*/proc*/nan_watch.json",
        ),
    ),
    Entry(
        "Two versions whose numbers differ",
        (
            "sonde run --dump-config examples/gallery/statistics.json"
            " -- python3 examples/gallery/two_versions.py --steps 2",
            f"mv {FOLDER}/dump {FOLDER}/golden",
            "sonde run --dump-config examples/gallery/statistics.json"
            " -- python3 examples/gallery/two_versions.py --steps 2 --change gelu",
            f"mv {FOLDER}/dump {FOLDER}/target",
            f"sonde probe compare -tp {FOLDER}/target/step0 -gp {FOLDER}/golden/step0"
            f" -o {FOLDER}/first-difference",
        ),
    ),
    Entry(
        "A simulated job of eight NPUs: two stages, experts, one slow rank",
        (
            f"python3 tools/simulated_job.py {FOLDER}/job",
            f"sonde cluster -m slow_rank -d {FOLDER}/job -o {FOLDER}/job-result",
        ),
        f"{FOLDER}/job",
    ),
)


class Gallery:
    """Runs commands, shows and keeps what they print."""

    def __init__(self, sonde, python, folder):
        self.sonde, self.folder = Path(sonde).resolve(), folder
        self.transcript = ROOT / "build/transcripts/gallery.txt"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.write_text("", encoding="utf-8")
        own = folder / "bin"  # python3 of the commands is the one with torch
        own.mkdir(parents=True)
        (own / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
        (own / "python3").chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{self.sonde.parent}:{own.resolve()}:{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, command):
        """One command line by the shell; ends the gallery where it fails."""
        print(f"\n$ {command}", flush=True)
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        print(done.stdout, end="", flush=True)
        self.keep(command, done.stdout)
        if done.returncode != 0:
            sys.exit(f"demo-gallery: exit status {done.returncode} of: {command}")

    def keep(self, command, output):
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(f"$ {command}\n{output}\n")


def start_server(gallery, vllm_python):
    """A server of a small model under Sonde that is on its way; `load` waits for it."""
    model, profiles = gallery.folder / "model", gallery.folder / "server"
    make = [vllm_python, "examples/vllm/make_model.py", model]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True, env=gallery.environment)
    launcher = [gallery.sonde, "run", "--profile-save-path", profiles, "--quiet", "--"]
    options = ("--max-num-seqs", "4")
    shown = f"sonde run --profile-save-path {profiles} -- vllm serve {model}"
    print(f"\n$ {shown} {' '.join(options)} &", flush=True)
    return Server(vllm_python, model, gallery.folder / "server.log", launcher, options=options)


def load(gallery, server):
    """Asks the server for more than it takes at once, profiled for that time, and ends it."""
    with server:
        command = f"python3 examples/gallery/load.py http://127.0.0.1:{server.port}"
        first = f"{command} --requests 4"  # the first requests compile
        subprocess.run(
            first, shell=True, cwd=ROOT, check=True, capture_output=True, env=gallery.environment
        )
        server.profile("start")
        gallery.run(command)
        server.profile("stop")
    gallery.run(f"sonde analyse {gallery.folder}/server")


def open_pages(gallery, pages):
    """One page server for each recording, until Ctrl+C; returns the exit status."""
    servers = []
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    try:
        for title, page in pages:
            words = [gallery.sonde, "view", *page.split(), *(["--open"] if has_screen else [])]
            server = subprocess.Popen(
                words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            servers.append(server)
            print(f"  {title}\n    {server.stdout.readline().strip()}", flush=True)
        print("Ctrl+C ends the pages", flush=True)
        for server in servers:
            server.wait()
    except KeyboardInterrupt:
        print()
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.wait()
    return 0


def record(gallery, entries):
    """Runs the commands of the entries; returns (title, page) of those that have a page."""
    for entry in entries:
        print(f"\n== {entry.title}", flush=True)
        for command in entry.commands:
            gallery.run(command)
    return [(entry.title, entry.page) for entry in entries if entry.page]


def record_all(gallery, vllm_python):
    """The whole gallery; (title, page) of each recording that has a page."""
    pages = record(gallery, TIMED)
    if not vllm_python:
        print("\nleft out: a vLLM server, vLLM is not installed (make setup-vllm installs one)")
        return pages + record(gallery, UNTIMED)
    with contextlib.ExitStack() as stack:
        server = start_server(gallery, vllm_python)
        stack.callback(server.end)
        pages += record(gallery, UNTIMED)
        title = "A vLLM server under load"
        print(f"\n== {title}", flush=True)
        load(gallery, server)
    return [*pages, (title, f"{FOLDER}/server")]


def main():
    sonde, python, folder = sys.argv[1], sys.argv[2], Path(FOLDER)
    vllm_python = sys.argv[3] if len(sys.argv) > 3 else ""
    begin = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    gallery = Gallery(sonde, python, folder)
    try:
        pages = record_all(gallery, vllm_python)
    except ServerError as problem:
        sys.exit(f"demo-gallery: {problem}")
    print(f"\nThe gallery is in {folder} after {time.monotonic() - begin:.0f} s. Its pages:")
    if os.environ.get("OPEN", "1") != "0":
        return open_pages(gallery, pages)
    for title, page in pages:
        print(f"  {title}\n    {sonde} view {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
