"""Ray and Dask on this machine: a cluster of each, whose workers are processes."""

import os
import secrets
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
# With so many workers each; `make test-engine` takes one, too.
ENGINES = [("ray", 3), ("dask", 3)]
if os.environ.get("SONDE_THOROUGH") == "1":
    ENGINES += [("ray", 1), ("dask", 1)]


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
    """One node whose processors are the workers."""

    def __init__(self, environment, workers, folder):
        self._command = Path(environment["SONDE_ENGINE_PYTHON"]).with_name("ray")
        self.port = free_port()
        self.environment = {**environment, "RAY_ADDRESS": f"127.0.0.1:{self.port}"}
        self.address = "ray"
        # In a process group of its own, which is ended as a whole.
        words = ["start", "--head", "--block", f"--port={self.port}", f"--num-cpus={workers}",
                 "--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}",
                 "--object-store-memory=100000000"]  # fmt: skip
        self._process = subprocess.Popen(
            [self._command, *words], env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for_port(self.port)

    def workers(self):
        """Processes that run a task now."""
        return below(self._process.pid, "ray::map_part")

    def close(self):
        end_group(self._process)


class DaskCluster:
    """A scheduler, and workers that a nanny starts again."""

    def __init__(self, environment, workers, folder):
        python = environment["SONDE_ENGINE_PYTHON"]
        self.port = free_port()
        self.environment = environment
        self.address = f"tcp://127.0.0.1:{self.port}"
        here = {"env": environment, "cwd": folder, "start_new_session": True,
                "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                "stderr": subprocess.DEVNULL}  # fmt: skip
        words = [python, "-m", "distributed.cli.dask_scheduler", "--no-dashboard",
                 "--host", "127.0.0.1", "--port", str(self.port)]  # fmt: skip
        self._processes = [subprocess.Popen(words, **here)]
        wait_for_port(self.port)
        words = [python, "-m", "distributed.cli.dask_worker", self.address, "--no-dashboard",
                 "--nworkers", str(workers), "--nthreads", "1"]  # fmt: skip
        self._processes.append(subprocess.Popen(words, **here))

    def workers(self):
        spawned = below(self._processes[-1].pid, "multiprocessing.spawn")
        return [number for number in spawned if below(number, "")]

    def close(self):
        for process in reversed(self._processes):
            end_group(process)


def end_group(process):
    for number in below(process.pid, ""):
        kill(number)
    process.kill()
    process.wait()


def kill(number):
    try:
        os.kill(number, 9)
    except ProcessLookupError:
        pass


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
