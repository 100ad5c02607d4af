"""Ray and Dask on this machine: a cluster of each, whose workers are processes."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from cluster_modes import EIGHT

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
# With so many workers each; `make test-engine` takes one and eight, too.
ENGINES = [("ray", 3), ("dask", 3)]
if os.environ.get("SONDE_THOROUGH") == "1":
    ENGINES += [("ray", 1), ("dask", 1), ("ray", 8), ("dask", 8)]


@pytest.fixture(scope="session", name="python")
def find_python():
    """An interpreter with Ray and Dask."""
    command = [ROOT / "setup/python.sh", "engine", "--if-there"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        pytest.skip("needs engine: Ray and Dask are not here (make setup-engine)")
    return found


@pytest.fixture(scope="session", name="environment")
def make_environment(python, tmp_path_factory):
    """That of commands and workers: nothing of ours but the cache folder and the Python."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "RAY_"))}
    return {
        **variables,
        "SONDE_ENGINE_PYTHON": python,
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
        "SONDE_ENGINE_PATIENCE": "4",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",  # nobody else on this machine may use the cluster
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


def wait_for_port(port):
    for _ in range(600):
        with socket.socket() as other:
            if other.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("nobody listens")


class RayCluster:
    """One node whose processors are the workers, in a process group that is ended as a whole."""

    def __init__(self, environment, workers, folder):
        self._command = Path(environment["SONDE_ENGINE_PYTHON"]).with_name("ray")
        self.port = free_port()
        self.count, self._folder = workers, folder
        self.environment = {**environment, "RAY_ADDRESS": f"127.0.0.1:{self.port}"}
        self.address = "ray"
        self._start_head()

    def _start(self, words, **variables):
        return subprocess.Popen(
            [self._command, "start", "--block", "--disable-usage-stats", *words],
            env={**self.environment, **variables}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _start_head(self):
        self._process = self._start(
            ["--head", f"--port={self.port}", f"--num-cpus={self.count}",
             "--include-dashboard=false", f"--temp-dir={self._folder}",
             "--object-store-memory=100000000"])  # fmt: skip
        wait_for_port(self.port)

    def add_node(self, **variables):
        """Another node, with one processor; returns what ends it."""
        words = [f"--address=127.0.0.1:{self.port}", "--num-cpus=1",
                 "--object-store-memory=100000000"]  # fmt: skip
        process = self._start(words, **variables)
        for _ in range(600):
            if below(process.pid, "raylet/raylet"):
                break
            time.sleep(0.1)
        return lambda: end_group(process)

    def workers(self):
        """Processes that run a task now."""
        return below(self._process.pid, "ray::map_part")

    def restart_head(self):
        """With its node."""
        end_group(self._process)
        self._start_head()

    def close(self):
        end_group(self._process)


class DaskCluster:
    """A scheduler, and workers that a nanny starts again."""

    def __init__(self, environment, workers, folder):
        self._python = environment["SONDE_ENGINE_PYTHON"]
        self.port = free_port()
        self.count, self._folder = workers, folder
        self.environment = environment
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._start_head()
        self._workers = self._start_workers(workers)

    def _start(self, words, **variables):
        return subprocess.Popen(
            [self._python, "-m", *words], env={**self.environment, **variables},
            cwd=self._folder, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _start_head(self):
        words = ["--no-dashboard", "--host", "127.0.0.1", "--port", str(self.port)]
        self._scheduler = self._start(["distributed.cli.dask_scheduler", *words])
        wait_for_port(self.port)

    def _start_workers(self, count, **variables):
        return self._start(["distributed.cli.dask_worker", self.address, "--no-dashboard",
                            "--nworkers", str(count), "--nthreads", "1"], **variables)  # fmt: skip

    def add_node(self, **variables):
        """Another worker; returns what ends it."""
        process = self._start_workers(1, **variables)
        return lambda: end_group(process)

    def workers(self):
        spawned = below(self._workers.pid, "multiprocessing.spawn")
        return [number for number in spawned if below(number, "")]

    def restart_head(self):
        """Workers end with it, as the engine has it; who runs a cluster starts them again."""
        end_group(self._scheduler)
        self._start_head()
        end_group(self._workers)
        self._workers = self._start_workers(self.count)

    def close(self):
        end_group(self._workers)
        end_group(self._scheduler)


def end_group(process):
    for number in below(process.pid, ""):
        kill(number)
    process.kill()
    process.wait()


def kill(number):
    send(number, 9)


def send(number, what):
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, what)


def below(number, word):
    """Processes that descend from this one and have the word in their command lines."""
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")")[-1].split()[1]
            )
            lines[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue

    def descends(other):
        while other in parents:
            other = parents[other]
            if other == number:
                return True
        return False

    return [other for other in parents if descends(other) and word in lines.get(other, "")]


def many_ranks(shared_data, folder, count):
    """Copies of eight ranks under other numbers: more parts than workers."""
    spans = sorted((shared_data / EIGHT).glob("*_ascend_pt"))
    for number in range(count):
        source = spans[number % len(spans)]
        own = folder / f"node{number}_{source.name.partition('_')[2]}"
        shutil.copytree(source, own)
        for name in own.rglob("*_[0-9]*.*"):
            if name.name.startswith(("ascend_pytorch_profiler_", "profiler_info_")):
                name.rename(name.with_name(f"{name.stem.rpartition('_')[0]}_{number}{name.suffix}"))
    return folder


@pytest.fixture(scope="session", params=ENGINES, ids=lambda one: f"{one[0]}{one[1]}",
                name="cluster")  # fmt: skip
def start_cluster(request, environment, tmp_path_factory):
    name, workers = request.param
    kind = {"ray": RayCluster, "dask": DaskCluster}[name]
    cluster = kind(environment, workers, tmp_path_factory.mktemp(name))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session", name="shared_data")
def find_shared_data():
    """Folder with data written by other tools; tests that need it are skipped without."""
    folder = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs data: there is none at {folder} (SONDE_SHARED_DATA)")
    return folder
