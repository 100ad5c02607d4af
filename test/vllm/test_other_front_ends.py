"""Servers whose front-end is not vLLM's own HTTP server in Python: its Rust program, a gRPC server,
and engines alone (`--headless`). The engine's own start and stop open and close the session, and
what the engine knows is there."""

import contextlib
import json
import socket
import subprocess
from pathlib import Path

import pytest
from vllm_server import Server
from watched import Stream, await_line, metrics, one_more_session, printed, until

TOKENS = 8
PROMPT = "def main():"


def site_of(python):
    (folder,) = Path(python).parents[1].glob("lib/python*/site-packages")
    return folder


def launcher_into(sonde, folder, *options):
    folder.mkdir()
    return [sonde, "run", "--profile-save-path", folder, *options, "--"]


def check_state(server, session):
    """The stop was answered when the files were there (--profile-wait); a line names where the
    state of sessions is, since no route has it."""
    assert (session.folder / "session.state").read_text() == "complete\n"
    assert (session.folder / "serving_summary.txt").exists(), server.last_lines()
    lines = [line for line in printed(server).splitlines() if "/profile_status" in line]
    assert len(lines) == 1 and "session.state" in lines[0], lines


def check_request(request):
    """Of an engine alone: its own moments, in order."""
    assert request["is_whole"] == 1 and request["output_tokens"] == TOKENS
    assert request["ts"] <= request["queued_ts"] <= request["scheduled_ts"]
    assert request["scheduled_ts"] < request["first_token_ts"] < request["last_token_ts"]
    assert request["max_tokens"] == TOKENS and '"temperature":0' in request["sampling"]
    assert "LENGTH" in request["finish_reason"].upper()


def the_requests(rows, session):
    return rows(session, "SELECT * FROM request ORDER BY ts")


def test_the_rust_front_end(sonde, vllm_python, model, tmp_path, rows):
    if not (site_of(vllm_python) / "vllm" / "vllm-rs").exists():
        pytest.skip("only a newer release has the Rust front-end (make test-vllm-newest)")
    launcher = launcher_into(sonde, tmp_path / "profile", "--profile-wait")
    environment = {"VLLM_USE_RUST_FRONTEND": "1"}
    with Server(vllm_python, model, tmp_path / "log", launcher, environment=environment) as server:
        server.profiles = tmp_path / "profile"
        plain = server.ask(PROMPT, TOKENS)
        for number in (1, 2):
            before = metrics(server)
            with one_more_session(server) as session:
                assert server.profile("start")[0] == 200, server.last_lines()
                texts = [server.ask(PROMPT, TOKENS) for _ in range(3)]
                assert server.profile("stop")[0] == 200, server.last_lines()
            check_state(server, session)
            assert texts == [plain] * 3
            counted = metrics(server)["vllm:generation_tokens_total"]
            counted -= before["vllm:generation_tokens_total"]
            await_line(server, f"served: {session.folder}")
            found = the_requests(rows, session.folder)
            assert sum(request["output_tokens"] for request in found) == counted == 3 * TOKENS
            for request in found:
                check_request(request)
            lines = [line for line in printed(server).splitlines()
                     if f"sonde: {session.folder}: " in line]  # fmt: skip
            assert len(lines) == 1 and "Rust program" in lines[0], lines
            assert printed(server).count(f"served: {session.folder}") == 1, number
            until((session.span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists, server)
            (steps,) = rows(session.span, "SELECT count(*) AS n FROM step WHERE dur >= 0")
            assert steps["n"] == 3 * TOKENS
        with one_more_session(server) as unstopped:
            assert server.profile("start")[0] == 200, server.last_lines()
            server.ask(PROMPT, TOKENS)
    # The server ended in it: `sonde run` sums it up.
    assert (unstopped.folder / "serving_summary.txt").exists(), server.last_lines()
    (request,) = the_requests(rows, unstopped.folder)
    check_request(request)
    assert "not recorded: " not in printed(server)


ASK = """
import sys, grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from smg_grpc_proto import vllm_engine_pb2 as messages, vllm_engine_pb2_grpc as services
from smg_grpc_proto.generated import common_pb2 as common
channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}")
grpc.channel_ready_future(channel).result(timeout=300)
server = services.VllmEngineStub(channel)
print(server.StartProfile(common.StartProfileRequest()).success)
sampling = messages.SamplingParams(temperature=0, max_tokens=int(sys.argv[2]), ignore_eos=True)
request = messages.GenerateRequest(request_id="grpc-1", text="import ", sampling_params=sampling)
(answer,) = server.Generate(request)
print(answer.WhichOneof("response"), answer.complete.completion_tokens)
print(server.StopProfile(common.StopProfileRequest()).success)
"""


class GrpcServer(Server):
    """Answers no HTTP."""

    def answers(self):
        return "Server is ready to accept requests" in printed(self)


def test_a_grpc_server(sonde, vllm_python, model, tmp_path, rows):
    if not (site_of(vllm_python) / "smg_grpc_servicer").exists():
        pytest.skip("this environment has no server for gRPC (make test-vllm-newest)")
    launcher = launcher_into(sonde, tmp_path / "profile")
    with GrpcServer(vllm_python, model, tmp_path / "log", launcher, options=["--grpc"]) as server:
        server.profiles = tmp_path / "profile"
        assert "StartProfile and StopProfile (gRPC) are open to whoever reaches" in printed(server)
        command = [vllm_python, "-c", ASK, str(server.port), str(TOKENS)]
        with one_more_session(server) as session:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr + server.last_lines()
        assert done.stdout.split() == ["True", "complete", str(TOKENS), "True"]
        await_line(server, f"served: {session.folder}")
    # The servicer may still be warming up, with requests of its own.
    found = [one for one in the_requests(rows, session.folder) if "grpc-1" in one["name"]]
    assert len(found) == 1
    check_request(found[0])
    assert found[0]["tokenized_ts"] > 0, "the front-end is recorded"
    assert "not recorded: " not in printed(server)


def free_port():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return reserved.getsockname()[1]


def test_engines_alone(sonde, vllm_python, model, tmp_path, rows):
    """Two servers of one engine each: the head has the front-end, the other one is headless."""
    shared = ["--data-parallel-size", 2, "--data-parallel-size-local", 1,
              "--data-parallel-address", "127.0.0.1",
              "--data-parallel-rpc-port", free_port()]  # fmt: skip
    alone = Server(vllm_python, model, tmp_path / "alone.log",
                   launcher_into(sonde, tmp_path / "alone", "--profile-wait"),
                   options=[*shared, "--headless", "--data-parallel-start-rank", 1])  # fmt: skip
    with contextlib.ExitStack() as stack:
        stack.callback(alone.end)
        head = stack.enter_context(
            Server(
                vllm_python,
                model,
                tmp_path / "head.log",
                launcher_into(sonde, tmp_path / "head"),
                options=[*shared, "--api-server-count", 1],
            )  # fmt: skip
        )
        alone.profiles = tmp_path / "alone"
        with one_more_session(alone) as session:
            assert head.profile("start")[0] == 200, head.last_lines()
            streams = [Stream(head, TOKENS) for _ in range(6)]
            for stream in streams:
                stream.join(120)
                assert stream.moments, head.last_lines()
            assert head.profile("stop")[0] == 200, head.last_lines()
        check_state(alone, session)
        await_line(alone, f"served: {session.folder}")
        (headed,) = (tmp_path / "head").glob("server_*")
        await_line(head, f"served: {headed}")
    found = the_requests(rows, session.folder)
    assert 0 < len(found) < 6, "each engine served some"
    for request in found:
        check_request(request)
    lines = [line for line in printed(alone).splitlines() if f"sonde: {session.folder}: " in line]
    assert len(lines) == 1 and "--headless" in lines[0], lines
    assert "are open to whoever reaches" not in printed(alone)
    (steps,) = rows(session.span, "SELECT count(*) AS n FROM step WHERE dur >= 0")
    assert steps["n"] >= TOKENS
    of_the_head = the_requests(rows, headed)
    assert len(of_the_head) == 6
    assert sum(request["output_tokens"] for request in of_the_head) == 6 * TOKENS
    names = {json.dumps(request["name"]) for request in found}
    assert len(names) == len(found)
