"""Plants causes of slow requests in a real vLLM server under Sonde, and counts how many of them are
in what Sonde finds.

    count_causes.py FOLDER SONDE [--times N] [--pairs N] [--quiet N] [--busy N] [--only CAUSE,...]

Each session of a server has a load of small requests, in which one or two causes are planted.
Counted are: the cause in a finding, the cause as a reason of the requests that it hit, findings of
causes that were not planted, and requests whose parts add up to what their client measured.
"""

import argparse
import contextlib
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "tools"), str(HERE)]

from causes import AT_ONCE, BLOCK, BLOCKS, CAUSES, PAIRS, ROOM, WITH_SCORES, Site  # noqa: E402
from clients import Load, Request  # noqa: E402
from found import Counts, look_at  # noqa: E402
from processor_use import processor_use, share_of_others  # noqa: E402
from vllm_server import Server  # noqa: E402


@dataclass
class Session:
    """What is planted in it, in order, and what came of that."""

    causes: tuple
    is_busy: bool = False
    folder: Path = None
    planted: list = field(default_factory=list)
    requests: list = field(default_factory=list)  # what their clients saw
    others: float = 0  # share of the processors that other programs used

    @property
    def ranks(self):
        return max((CAUSES[name].ranks for name in self.causes), default=1)

    @property
    def title(self):
        return " + ".join(self.causes) or ("nothing, busy" if self.is_busy else "nothing, quiet")


@contextlib.contextmanager
def busy_machine(is_busy):
    """Others want every processor, too."""
    words = ["sh", "-c", "while :; do :; done"]
    others = [subprocess.Popen(words) for _ in range(os.cpu_count() if is_busy else 0)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def plug_in(folder):
    """A folder in which vLLM finds the plug-in as if it were installed."""
    metadata = folder / "planted-0.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 0.0\n")
    (metadata / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nplanted = planted:register\n"
    )
    return f"{folder}:{HERE / 'planted'}"


def start(sonde, model, folder, ranks):
    (folder / "orders").mkdir(parents=True)
    launcher = [sonde, "run", "--profile-level", "level0", "--no-analyse", "--profile-save-path",
                folder / "profile", "--"]  # fmt: skip
    options = ["--max-num-seqs", AT_ONCE, "--max-model-len", ROOM, "--num-gpu-blocks-override",
               BLOCKS, "--block-size", BLOCK, "--hf-overrides",
               json.dumps({"max_position_embeddings": ROOM}), "--no-enable-prefix-caching",
               "--middleware", "planted.Plants"]  # fmt: skip
    environment = {"PYTHONPATH": plug_in(folder / "site"), "SONDE_PLANTED": str(folder / "orders")}
    return Server(sys.executable, model, folder / "log", launcher, ranks, options, environment)


def record(server, folder, session):
    """One session of the server with what is planted in it."""
    site = Site(server.port, server.process.pid, folder / "orders", server.call,
                lambda **how: Request(server.port, **how))  # fmt: skip
    server.call(f"/planted/{'fill' if 'garbage' in session.causes else 'drop'}")
    before = set((folder / "profile").glob("*server_*"))
    if server.profile("start")[0] != 200:
        raise RuntimeError(f"no session\n{server.last_lines()}")
    used = processor_use(server.process.pid)
    with busy_machine(session.is_busy):
        site.load = load = Load(server.port)
        load.await_more(10)
        for name in session.causes:
            session.planted.append(CAUSES[name].plant(site))
            load.await_more(6)
        load.await_more(0 if session.causes else 20)
        load.stop()
    session.others = share_of_others(used, processor_use(server.process.pid))
    server.profile("stop")
    (session.folder,) = set((folder / "profile").glob("*server_*")) - before
    session.requests = [*load.seen, *(own for one in session.planted for own in one.own)]


def chosen(arguments):
    """The sessions that were asked for."""
    names = arguments.only.split(",") if arguments.only else list(CAUSES)
    pairs = [pair for pair in PAIRS if set(pair) <= set(names)]
    return [
        *(Session((name,)) for name in names for _ in range(arguments.times)),
        *(Session(pair) for pair in pairs for _ in range(arguments.pairs)),
        *(Session(()) for _ in range(arguments.quiet)),
        *(Session((), is_busy=True) for _ in range(arguments.busy)),
    ]


def record_all(sessions, sonde, folder):
    model = folder / "model"
    make = [sys.executable, ROOT / "examples" / "vllm" / "make_model.py", model]
    subprocess.run(make, check=True, capture_output=True)
    for ranks, group in itertools.groupby(sorted(sessions, key=lambda one: one.ranks),
                                          key=lambda one: one.ranks):  # fmt: skip
        home = folder / f"ranks{ranks}"
        with start(sonde, model, home, ranks) as server:
            server.ask("import ", 8, **WITH_SCORES)  # the first compiles what scores need
            for session in group:
                record(server, home, session)
                print(f"recorded: {session.title}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sonde", type=Path)
    parser.add_argument("--times", type=int, default=5, help="sessions of each cause alone")
    parser.add_argument("--pairs", type=int, default=2, help="sessions of each pair")
    parser.add_argument("--quiet", type=int, default=5, help="sessions without a cause")
    parser.add_argument("--busy", type=int, default=5, help="the same on a busy machine")
    parser.add_argument("--only", default="", help="causes, commas between")
    parser.add_argument("--again", action="store_true", help="look again at what FOLDER has")
    arguments = parser.parse_args()
    folder, sonde = arguments.folder.resolve(), arguments.sonde.resolve()
    truth = folder / "truth.pickle"
    if arguments.again:
        sessions = pickle.loads(truth.read_bytes())
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        sessions = chosen(arguments)
        record_all(sessions, sonde, folder)
        truth.write_bytes(pickle.dumps(sessions))
    counts = Counts()
    for session in sessions:
        look_at(sonde, session, counts)
    raise SystemExit(counts.report())


if __name__ == "__main__":
    main()
