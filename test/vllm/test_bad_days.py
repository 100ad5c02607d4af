"""What goes wrong around a server costs lines in its log and captures, never an answer."""

import json
import shutil
import subprocess
import time

import pytest
from vllm_server import Server

TOKENS = 6


@pytest.fixture(name="small_disk")
def mount_small_disk(mount_disk):
    """A file system of two megabytes."""
    return mount_disk("2m")


def profiled(server, tokens):
    """A session; the text of the answer."""
    assert server.profile("start")[0] == 200
    text = server.ask("import ", tokens)
    assert server.profile("stop")[0] == 200
    return text


def await_line(server, text):
    end = time.monotonic() + 120
    while text not in server.log.read_text(errors="replace"):
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)


def remount_read_only(disk):
    """As soon as nothing writes there: what parses the capture finds by itself that it cannot."""
    end = time.monotonic() + 60
    while subprocess.run(["mount", "-o", "remount,ro", disk], check=False).returncode != 0:
        assert time.monotonic() < end, "a file on the full disk stays open"
        time.sleep(0.2)


def test_a_full_disk_and_one_that_cannot_be_written(
    sonde, vllm_python, model, small_disk, tmp_path, rows
):
    folder = small_disk / "profile"
    launcher = [sonde, "run", "--profile-save-path", folder, "--"]
    with Server(vllm_python, model, tmp_path / "log", launcher) as server:
        text = server.ask("import ", 300)
        assert profiled(server, 300) == text
        await_line(server, "No space left on device")
        # What has been written can be read on another disk.
        kept = tmp_path / "kept"
        shutil.copytree(next(folder.glob("rank0_*_ascend_pt")), kept / "rank0_1_2_ascend_pt")
        done = subprocess.run([sonde, "analyse", kept], capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        # How many steps there was room for depends on how far the recorder was behind.
        assert rows(kept, "SELECT count(*) AS n FROM step")[0]["n"] > 0
        assert rows(kept, "SELECT count(*) AS n FROM slice")[0]["n"] > 100

        (session,) = folder.glob("server_*")
        await_line(server, f"served: {session}")  # then nothing is added to the folder any more
        shutil.rmtree(folder)
        remount_read_only(small_disk)
        assert profiled(server, TOKENS) == server.ask("import ", TOKENS)
        await_line(server, "Read-only file system")
        assert "not parsed" not in server.log.read_text(errors="replace")

        subprocess.run(["mount", "-o", "remount,rw,size=200m", small_disk], check=True)
        profiled(server, TOKENS)
        (session,) = folder.glob("server_*")
        await_line(server, f"served: {session}")
        assert rows(session, "SELECT count(*) AS n FROM request WHERE is_whole = 1")[0]["n"] == 1


def test_an_adapter_that_is_not_there(vllm_python, model, installed, tmp_path):
    """The package is installed, its adapter is broken: the server is vLLM's own."""
    libraries = tmp_path / "home" / "lib"
    libraries.mkdir(parents=True)
    (libraries / "libsonde_torch.so").write_text("no library")
    folder = tmp_path / "traces"
    config = {"profiler": "torch", "torch_profiler_dir": str(folder),
              "torch_profiler_with_stack": False}  # fmt: skip
    environment = {**installed, "SONDE": "1", "SONDE_HOME": str(libraries.parent)}
    options = ["--profiler-config", json.dumps(config)]
    with Server(vllm_python, model, tmp_path / "log", options=options,
                environment=environment) as server:  # fmt: skip
        profiled(server, TOKENS)
        said = [line for line in server.log.read_text().splitlines() if "sonde: " in line]
    assert list(folder.glob("*.pt.trace.json.gz")), "vLLM's own profiler"
    assert said and all("this process is not recorded" in line for line in said), said


def test_a_model_that_cannot_be_loaded(sonde, vllm_python, tmp_path):
    """What vLLM says comes through, and its exit status."""
    command = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--",
               vllm_python.replace("/python", "/vllm"), "serve", tmp_path / "nothing"]  # fmt: skip
    environment = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode not in (0, 255), done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("sonde: ")]
    assert len(said) == 2 and "/start_profile and /stop_profile are open to" in said[0], said
    assert "no session began" in said[1], said


def test_two_servers_write_into_one_folder_and_one_ends_in_a_session(
    sonde, vllm_python, model, tmp_path, rows
):  # fmt: skip
    """`sonde run` looks after what is left when vLLM has ended its processes."""
    folder = tmp_path / "profile"
    launcher = [sonde, "run", "--profile-save-path", folder, "--profile-wait", "--"]
    with (
        Server(vllm_python, model, tmp_path / "log1", launcher) as first,
        Server(vllm_python, model, tmp_path / "log2", launcher) as second,
    ):
        for server in (first, second):
            server.ask("import ", TOKENS)
        assert first.profile("start")[0] == second.profile("start")[0] == 200
        first.ask("import ", TOKENS)
        second.ask("import ", 2 * TOKENS)
        assert first.profile("stop")[0] == second.profile("stop")[0] == 200
        assert first.profile("start")[0] == 200
        first.ask("import ", 3 * TOKENS)
    told = {}
    for session in folder.glob("server_*"):
        (row,) = rows(session, "SELECT output_tokens, is_whole FROM request")
        assert row["is_whole"] == 1
        (ranks,) = rows(session, "SELECT count(*) AS n FROM process WHERE rank = 0")
        assert ranks["n"] == 1
        told[row["output_tokens"]] = session
    assert sorted(told) == [TOKENS, 2 * TOKENS, 3 * TOKENS]
    assert all((session / "serving_summary.csv").exists() for session in told.values())
    spans = list(folder.glob("rank0_*_ascend_pt"))
    steps = "SELECT count(*) AS n FROM step WHERE dur >= 0"
    assert sorted(rows(span, steps)[0]["n"] for span in spans) == sorted(told)
    for span in spans:
        assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists(), first.last_lines()


def test_a_plug_in_whose_server_ends_in_a_session(vllm_python, model, installed, tmp_path, rows):
    """Without `sonde run` the front-end looks after what is left."""
    folder = tmp_path / "traces"
    config = {"profiler": "torch", "torch_profiler_dir": str(folder),
              "torch_profiler_with_stack": False}  # fmt: skip
    options = ["--profiler-config", json.dumps(config)]
    environment = {**installed, "SONDE": "1"}
    with Server(vllm_python, model, tmp_path / "log", options=options,
                environment=environment) as server:  # fmt: skip
        server.ask("import ", TOKENS)
        assert server.profile("start")[0] == 200
        server.ask("import ", TOKENS)
    (span,), (session,) = folder.glob("rank0_*_ascend_pt"), folder.glob("server_*")
    assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists(), server.last_lines()
    assert rows(span, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] == TOKENS
    assert (session / "serving_summary.csv").exists()
    assert rows(session, "SELECT count(*) AS n FROM request WHERE is_whole = 1")[0]["n"] == 1
