"""What tests of several folders need."""

import importlib.util
import signal
import subprocess

import prepared as of_prepared
import pytest


def pytest_configure():
    """Started in the background of a script, all programs would inherit Ctrl-C as ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(name="mount_disk")
def make_mount_disk(tmp_path):
    """mount_disk("64k") gives a folder on a file system of that size, gone after the test."""
    mounted = []

    def mount_disk(size):
        folder = tmp_path / f"disk{len(mounted)}"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "sonde_test", folder]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("needs root: others cannot mount a file system")
        mounted.append(folder)
        return folder

    yield mount_disk
    for folder in mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="session", name="prepared")
def make_prepared():
    """`prepared.python` stands in for an interpreter that is to run a program with torch."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")
    made = of_prepared.Prepared()
    yield made
    made.close()
