"""Every way in which a server or a program with ``LLM(...)`` is started, with nothing, with the
variable of older releases, with either form of a configuration, with a list of plug-ins, and as a
plug-in without ``sonde run``: the routes answer, one capture a rank, each request with its arrival
and as many tokens as its client got, and the same texts as without. Then what may be asked for or
go wrong beside that, once on a real server; what each of it does is tested without one.

Names no release: `make test-vllm-versions` runs all of it with several, `make test-vllm-ways` with
the one that is installed (SONDE_VLLM_WAYS=all, or SONDE_THOROUGH=1). Else each way is that of one
of the servers of the other files.
"""

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from vllm_server import QUIET, Server
from watched import IS_THOROUGH, await_line, printed

if not IS_THOROUGH:
    pytest.skip("with SONDE_VLLM_WAYS=all: half an hour", allow_module_level=True)

TOKENS = 8
PROMPT = "def main():"

WAYS = ["serve", "api_server", "cli", "path"]
CONFIGURATIONS = ["nothing", "variable", "configuration", "dotted", "plug-ins", "SONDE=1"]
CELLS = [(way, configuration) for way in WAYS for configuration in CONFIGURATIONS]
PROGRAMS = [(way, engine) for way in ("script", "module") for engine in ("in process", "spawned")]


def version_of(python):
    ask = "import importlib.metadata as m; print(m.version('vllm'))"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return tuple(int(part) for part in re.match(r"\d+\.\d+(\.\d+)?", done.stdout)[0].split("."))


@pytest.fixture(scope="module", name="version")
def find_version(vllm_python):
    return version_of(vllm_python)


def switches(configuration, folder, version):
    """Options and variables."""
    if configuration == "variable":
        return [], {"VLLM_TORCH_PROFILER_DIR": str(folder)}
    if configuration == "plug-ins":  # a list in which ours is not
        return [], {"VLLM_PLUGINS": "lora_filesystem_resolver"}
    if configuration == "nothing":
        return [], {}
    if version < (0, 13):
        pytest.skip("needs vllm: one with --profiler-config")
    if configuration == "dotted":
        directory = f"--profiler-config.torch_profiler_dir={folder}"
        return ["--profiler-config.profiler=torch", directory], {}
    given = {"profiler": "torch", "torch_profiler_dir": str(folder)}
    return ["--profiler-config", json.dumps(given)], {}


def started(sonde, configuration, folder, installed):
    """What stands before the command, and variables beside those of ``switches``."""
    if configuration == "SONDE=1":
        return [], {**installed, "SONDE": "1", "SONDE_PROFILE_WAIT": "1", "VLLM_PLUGINS": "sonde"}
    return [sonde, "run", "--profile-save-path", folder, "--profile-wait", "--"], {}


def completion(server):
    body = {"model": "tiny", "prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0,
            "ignore_eos": True}  # fmt: skip
    status, text = server.call("/v1/completions", body)
    assert status == 200, server.last_lines()
    answer = json.loads(text)
    return answer["choices"][0]["text"], answer["usage"]


def generated(server):
    """What the server counts itself."""
    found = re.findall(r"^vllm:generation_tokens_total\S* (\S+)$", server.call("/metrics")[1], re.M)
    return sum(map(float, found))


@pytest.mark.parametrize(("way", "configuration"), CELLS)
def test_a_server(
    sonde, vllm_python, model, plain, tmp_path, rows, version, way, configuration, installed
):
    folder = tmp_path / "traces"
    options, environment = switches(configuration, folder, version)
    launcher, more = started(sonde, configuration, folder, installed)
    with Server(vllm_python, model, tmp_path / "log", launcher, options=options,
                environment={**environment, **more}, way=way) as server:  # fmt: skip
        before, _ = completion(server)
        counted = generated(server)
        assert server.profile("start")[0] == 200, server.last_lines()
        during, usage = completion(server)
        assert server.profile("stop")[0] == 200, server.last_lines()
        counted = generated(server) - counted
        status, text = server.call("/profile_status")
        assert status == 200
        (reported,) = json.loads(text)["sessions"]
        after, _ = completion(server)
    assert before == during == after == plain
    assert "not recorded" not in printed(server), printed(server)
    is_opened = configuration in ("nothing", "plug-ins")
    assert ("are open to whoever reaches" in printed(server)) == is_opened
    (session,) = folder.glob("server_*")
    assert reported["folder"] == str(session) and reported["state"] == "complete"
    (rank,) = folder.glob("*_ascend_pt")
    check_session(rows, session, usage, counted)
    assert rows(rank, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] == TOKENS
    assert rows(rank, "SELECT count(*) AS n FROM framework_op")[0]["n"] > 100 * TOKENS


def check_session(rows, session, usage, counted):
    (request,) = rows(session, "SELECT r.*, s.name AS slice FROM request r LEFT JOIN slice s "
                               "USING (slice_id)")  # fmt: skip
    assert request["slice"] == "request" and request["is_whole"] == 1
    assert request["ts"] <= request["tokenized_ts"] <= request["queued_ts"]
    assert request["queued_ts"] <= request["scheduled_ts"] < request["first_token_ts"]
    assert request["prompt_tokens"] == usage["prompt_tokens"]
    assert request["output_tokens"] == usage["completion_tokens"] == counted == TOKENS
    sql = "SELECT sum(prefill_requests) AS p, sum(decode_requests) AS d FROM engine_step"
    (batches,) = rows(session, sql)
    assert (batches["p"], batches["d"]) == (1, TOKENS - 1)


SCRIPT = """
import sys
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    llm = LLM(model=sys.argv[1], dtype="float32", max_model_len=512, enforce_eager=True, seed=0)
    sampling = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    print("text", repr(llm.generate(["def main():"], sampling)[0].outputs[0].text))
"""


def run_program(folder, launcher, python, model, way, engine):
    """The text that it printed, and what was reported beside."""
    (folder / "offline.py").write_text(SCRIPT)
    words = ["offline.py"] if way == "script" else ["-m", "offline"]
    programs = Path(python).parent
    environment = {**os.environ, **QUIET, "PATH": f"{programs}:{os.environ['PATH']}",
                   "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(engine == "spawned"))}  # fmt: skip
    done = subprocess.run([*launcher, python, *words, model], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return ast.literal_eval(re.search(r"^text (.*)$", done.stdout, re.M)[1]), done.stderr


@pytest.fixture(scope="module", name="plain")
def run_without_sonde(vllm_python, model, tmp_path_factory):
    """The text that any server or program gives without Sonde, in the cheapest way."""
    folder = tmp_path_factory.mktemp("plain")
    return run_program(folder, [], vllm_python, model, "script", "in process")[0]


@pytest.mark.parametrize(("way", "engine"), PROGRAMS)
def test_a_program(sonde, vllm_python, model, plain, tmp_path, rows, way, engine):
    """Without a word about profiling: the engine's whole life is one session."""
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "traces", "--"]
    text, lines = run_program(tmp_path, launcher, vllm_python, model, way, engine)
    assert text == plain
    assert "not recorded" not in lines, lines
    (session,) = (tmp_path / "traces").glob("server_*")
    (request,) = rows(session, "SELECT * FROM request")
    assert request["output_tokens"] == TOKENS and request["queued_ts"] > 0
    (rank,) = [path for path in (tmp_path / "traces").glob("*_ascend_pt") if path != session]
    assert rows(rank, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] == TOKENS


def test_closed_routes(sonde, vllm_python, model, tmp_path):
    """Where that is asked for nothing is open, and who asks all the same learns why."""
    launcher = [sonde, "run", "--no-profile-routes", "--profile-save-path", tmp_path / "t", "--"]
    with Server(vllm_python, model, tmp_path / "log", launcher) as server:
        assert server.profile("start")[0] == 404
        completion(server)
    assert "are open" not in printed(server)
    nothing = "nothing was recorded: sessions of the server: this server has no /start_profile"
    assert nothing in printed(server)


FAULTS = """
import dataclasses, inspect, os
from sonde._seams import _part
made, kind = _part.made, os.environ["FAULT"]
def before(*_, **__):
    raise LookupError("injected")
    yield
async def before_awaited(*_, **__):
    raise LookupError("injected")
    yield
def after_of(around):
    def after(*args, **kwargs):
        if inspect.isgeneratorfunction(around):
            yield from around(*args, **kwargs)
        else:
            around(*args, **kwargs)
            yield
        raise LookupError("injected")
    async def after_awaited(*args, **kwargs):
        running = around(*args, **kwargs)
        await running.__anext__()
        result = yield
        try:
            await running.asend(result)
        except StopAsyncIteration:
            pass
        raise LookupError("injected")
    return after_awaited if inspect.isasyncgenfunction(around) else after
def failing(seam, place):
    around = place.part.around
    if around is not None:
        if kind == "before":
            around = before_awaited if inspect.isasyncgenfunction(around) else before
        else:
            around = after_of(around)
        place = dataclasses.replace(place, part=dataclasses.replace(place.part, around=around))
    return made(seam, place)
_part.made = failing
"""


@pytest.mark.parametrize("kind", ["before", "after"])
def test_all_changes_fail_at_once(sonde, vllm_python, model, plain, tmp_path, kind):
    """The server serves as if there were none; each reports it once a process, and once at the
    end."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "usercustomize.py").write_text(FAULTS)
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "traces", "--"]
    (site / "sitecustomize.py").write_text("import usercustomize\n")
    environment = {"PYTHONPATH": f"{Path(__file__).parents[2] / 'python'}:{site}", "FAULT": kind}
    with Server(vllm_python, model, tmp_path / "log", launcher, environment=environment) as server:
        assert completion(server)[0] == plain
        assert server.profile("start")[0] == 200
        assert completion(server)[0] == plain
        assert server.profile("stop")[0] == 200
        assert completion(server)[0] == plain
    for title in ("engine steps", "steps of the ranks", "requests over HTTP"):
        line = f"not recorded from here on: {title} (LookupError: injected)"
        assert printed(server).count(line) == 1, printed(server)
        assert printed(server).count(f"not recorded: {title}: LookupError: injected") == 1
    assert list((tmp_path / "traces").glob("*_ascend_pt")), "operators are recorded all the same"


def count(rows, span, what):
    return rows(span, f"SELECT count(*) AS n FROM {what}")[0]["n"]


def test_the_variables_of_older_versions(vllm_python, model, installed, tmp_path, rows):
    older = {"VLLM_TORCH_PROFILER_DIR": str(tmp_path / "traces"),
            "VLLM_TORCH_PROFILER_WITH_STACK": "0", "VLLM_TORCH_PROFILER_RECORD_SHAPES": "1",
            "VLLM_PROFILER_DELAY_ITERS": "2", "VLLM_PROFILER_MAX_ITERS": "4"}  # fmt: skip
    environment = {**installed, **older, "SONDE": "1"}
    with Server(vllm_python, model, tmp_path / "log", environment=environment) as server:
        assert server.profile("start")[0] == 200
        server.ask("import ", 9)
        assert server.profile("stop")[0] == 200
        (span,) = (tmp_path / "traces").glob("rank0_*_ascend_pt")
        await_line(server, f"parsed: {span}")
        (session,) = (tmp_path / "traces").glob("server_*")
        status, text = server.call("/profile_status")
    # The front-end takes part although vLLM had imported all of it before it called the plug-in.
    assert status == 200 and [s["folder"] for s in json.loads(text)["sessions"]] == [str(session)]
    assert count(rows, session, "request r JOIN slice s USING (slice_id) "
                                "WHERE s.name = 'request'") == 1  # fmt: skip
    reported = count(rows, span, "slice WHERE name LIKE 'execute_context%'")
    assert reported == count(rows, span, "step WHERE dur >= 0") == 4
    assert count(rows, span, "framework_op WHERE input_shapes LIKE '%256%'") > 0
    assert count(rows, span, "callstack") == 0


def test_two_engines(sonde, vllm_python, model, tmp_path, rows):
    """Data parallel: a capture of each engine, and all requests in the one server's session."""
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--"]
    options = ["--data-parallel-size", "2"]
    environment = {"VLLM_CPU_OMP_THREADS_BIND": "0|1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    log = tmp_path / "log"
    with Server(vllm_python, model, log, launcher, options=options, environment=environment) as at:
        at.ask("import ", TOKENS)
        assert at.profile("start")[0] == 200
        for _ in range(4):
            at.ask("import ", TOKENS)
        assert at.profile("stop")[0] == 200
        (session,) = (tmp_path / "profile").glob("server_*")
        await_line(at, f"served: {session}")
    statement = "SELECT count(*) AS n, sum(output_tokens) AS tokens FROM request"
    (all_requests,) = rows(session, statement)
    assert all_requests == {"n": 4, "tokens": 4 * TOKENS}
    spans = list((tmp_path / "profile").glob("rank*_ascend_pt"))
    assert len(spans) == 2  # each engine numbers its ranks from 0, as in vLLM's own traces
    assert sum(rows(span, "SELECT count(*) AS n FROM step")[0]["n"] for span in spans) >= 4 * TOKENS


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
        assert server.profile("start")[0] == 200
        completion(server)
        assert server.profile("stop")[0] == 200
        lines = [line for line in printed(server).splitlines() if "sonde: " in line]
    assert list(folder.glob("*.pt.trace.json.gz")), "vLLM's own profiler"
    assert lines and all("this process is not recorded" in line for line in lines), lines


def test_warm_up_of_a_compiled_server_is_no_step(sonde, vllm_python, model, tmp_path, rows):
    """Recorded from the start of the worker on."""
    switches = ["--profile-step-start", "0", "--profile-step-end", "3", "--profile-save-path",
                tmp_path / "profile"]  # fmt: skip
    with Server(vllm_python, model, tmp_path / "log", [sonde, "run", *switches, "--"],
                options=["--no-enforce-eager"],
                environment={"VLLM_CACHE_ROOT": str(tmp_path / "compiled")}) as server:  # fmt: skip
        server.ask(PROMPT, TOKENS)
        await_line(server, "rank 0: ")
    (span,) = [path for path in (tmp_path / "profile").glob("*_ascend_pt")
               if rows(path, "SELECT count(*) AS n FROM step")[0]["n"]]  # fmt: skip
    assert [r["step_id"] for r in rows(span, "SELECT step_id FROM step ORDER BY ts")] == [0, 1, 2]
    (reported,) = rows(span, "SELECT count(*) AS n, max(ts + dur) AS last FROM slice "
                         "WHERE name = 'warm-up'")  # fmt: skip
    assert reported["n"] > 0
    assert reported["last"] <= rows(span, "SELECT min(ts) AS first FROM step")[0]["first"]
