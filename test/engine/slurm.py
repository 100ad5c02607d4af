"""Slurm on this machine: a controller and nodes, their daemons in one folder, no service manager.

`shared` is a folder that jobs see as `/shared`, in a mount namespace of the nodes alone, so that
the job files of the documentation run as they are.
"""

import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
SHARED = Path("/shared")

_CONFIGURATION = """\
ClusterName=sonde
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SlurmdTimeout=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What this machine lacks, as a reason to skip; "" where it lacks nothing."""
    if os.geteuid() != 0:
        return "needs root: nodes of Slurm in a mount namespace"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"needs slurm: {', '.join(lacking)} (setup/debian.sh slurm)" if lacking else ""


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


class SlurmCluster:
    """Nodes of four processors each, whatever this machine has."""

    def __init__(self, environment, folder, shared, nodes=2):
        self._folder = folder
        self._made_place = not SHARED.exists()
        SHARED.mkdir(exist_ok=True)
        self.shared = shared
        self.names = [f"n{number}" for number in range(nodes)]
        self._daemons = {}
        host = socket.gethostname().partition(".")[0]
        lines = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=4"
            for name in self.names
        ]
        text = _CONFIGURATION.format(
            host=host, port=free_port(), folder=folder, nodes="\n".join(lines)
        )
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(text)
        self.environment = {**environment, "SLURM_CONF": str(folder / "slurm.conf")}
        self._start_munge()
        self.start_head()
        for name in self.names:
            self.start_node(name)
        self.wait_for_nodes()

    def _start_munge(self):
        key = self._folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        for folder in (self._folder, *self._folder.parents):  # munge wants all to reach its socket
            if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o011)
        files = [f"--{name}={self._folder}/munge.{ending}" for name, ending in (
            ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"),
            ("seed-file", "seed"))]  # fmt: skip
        self._start("munged", ["munged", "--force", "--foreground", *files])
        while not (self._folder / "munge.socket").exists():
            time.sleep(0.05)

    def _start(self, name, words):
        self._daemons[name] = subprocess.Popen(
            words, env=self.environment, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def start_head(self):
        self._start("head", ["slurmctld", "-D"])

    def start_node(self, name):
        mount = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        self._start(name, ["unshare", "-m", "sh", "-c", mount, "sh", str(self.shared), str(SHARED),
                           "slurmd", "-D", "-N", name])  # fmt: skip

    def restart_head(self):
        """As a service manager does: the controller keeps its state when it is asked to end."""
        self._daemons["head"].terminate()
        self._daemons.pop("head").wait(timeout=60)
        self.start_head()

    def lose_node(self, name):
        """With all that runs on it: what is in its mount namespace."""
        own = os.readlink(f"/proc/{self._daemons[name].pid}/ns/mnt")
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "ns/mnt") == own:
                    os.kill(int(folder.name), 9)
            except OSError:
                continue
        self._daemons.pop(name).wait()

    def run(self, words, **options):
        """A command of Slurm; its output."""
        done = subprocess.run(
            [str(word) for word in words], env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=300, **options,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_on_node(self, words):
        """Without Slurm, where `/shared` is that of jobs."""
        pid = self._daemons[self.names[0]].pid
        return self.run(["nsenter", "-t", pid, "-m", *words])

    def wait_for_nodes(self):
        for _ in range(600):
            done = subprocess.run(
                ["sinfo", "-h", "-t", "idle", "-o", "%D"], env=self.environment,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.stdout.strip() == str(len(self.names)):
                return
            time.sleep(0.1)
        raise AssertionError((self._folder / "slurmctld.log").read_text()[-2000:])

    def states(self):
        """Of all jobs that Slurm remembers, by number or task of an array."""
        lines = self.run(["squeue", "-h", "-r", "-t", "all", "-o", "%i %T"]).splitlines()
        return dict(line.split() for line in lines)

    def wait(self):
        """Until nothing runs or waits; the states of all jobs then."""
        end = time.monotonic() + 180
        while time.monotonic() < end:
            states = self.states()
            if not set(states.values()) & {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING"}:
                return states
            time.sleep(0.1)
        raise AssertionError(f"jobs do not end: {states}")

    def cancel(self):
        """All jobs."""
        subprocess.run(["scancel", "--full", "-u", "root"], env=self.environment, check=False)

    def close(self):
        self.cancel()
        for name in reversed(list(self._daemons)):
            self._daemons[name].terminate()
        for process in self._daemons.values():
            process.wait(timeout=60)
        if self._made_place:
            SHARED.rmdir()
