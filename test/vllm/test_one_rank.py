"""One server under `sonde run`, and the programs beside it: all that `vllm serve` on one rank is
enough for. It is started once; what is looked at lies in test/one_rank, in this order: requests.py,
operators.py, bench_serve.py, tails.py, disk.py, programs.py, and fates.py, which kills it.
"""

from pathlib import Path

import pytest
from vllm_server import Server

# isort: off
from one_rank.requests import *  # noqa: F403
from one_rank.operators import *  # noqa: F403
from one_rank.bench_serve import *  # noqa: F403
from one_rank.tails import *  # noqa: F403
from one_rank.disk import *  # noqa: F403
from one_rank.programs import *  # noqa: F403
from one_rank.fates import *  # noqa: F403
# isort: on

CHAT = ["--chat-template", "{% for one in messages %}{{ one['content'] }}{% endfor %}"]
ROOM_FOR_LONG = ["--max-model-len", 16384, "--hf-overrides", '{"max_position_embeddings": 16384}']


@pytest.fixture(scope="module", name="server")
def serve(sonde, vllm_python, model, tmp_path_factory):
    """Two requests fit into a batch. A middleware of its own writes when streams were sent."""
    folder = tmp_path_factory.mktemp("one_rank")
    (folder / "profile").mkdir()
    launcher = [sonde, "run", "--profile-level", "level1", "--profile-record-shapes",
                "--profile-save-path", folder / "profile", "--"]  # fmt: skip
    options = ["--max-num-seqs", 2, *ROOM_FOR_LONG, *CHAT,
               "--middleware", "stream_times.StreamTimes"]  # fmt: skip
    environment = {"PYTHONPATH": str(Path(__file__).parent), "STREAM_TIMES": str(folder / "times")}
    with Server(vllm_python, model, folder / "log", launcher, options=options,
                environment=environment) as server:  # fmt: skip
        server.profiles, server.stream_times = folder / "profile", folder / "times"
        server.ask("import ", 4)
        yield server
