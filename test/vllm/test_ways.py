"""Every way in which a server or a program with ``LLM(...)`` is started, with nothing, with the
variable of older releases, with either form of a configuration, with a list of plug-ins, and as a
plug-in without ``sonde run``: the routes answer, one capture a rank, each request with its arrival
and as many tokens as its client got, and the same texts as without.

Names no release: `make test-vllm-versions` runs all of it with several, `make test-vllm-ways` with
the one that is installed (SONDE_VLLM_WAYS=all, or SONDE_THOROUGH=1); else a few that stand for the
rest.
"""

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from vllm_server import QUIET, Server

TOKENS = 8
PROMPT = "def main():"

WAYS = ["serve", "api_server", "cli", "path"]
CONFIGURATIONS = ["nothing", "variable", "configuration", "dotted", "plug-ins", "SONDE=1"]
CELLS = [(way, configuration) for way in WAYS for configuration in CONFIGURATIONS]
PROGRAMS = [(way, engine) for way in ("script", "module") for engine in ("in process", "spawned")]
FAILING = ["before", "after"]
if os.environ.get("SONDE_VLLM_WAYS") != "all" and os.environ.get("SONDE_THOROUGH") != "1":
    # `vllm serve` with nothing is what all other files of tests start.
    CELLS = [("api_server", "SONDE=1"), ("cli", "variable"), ("path", "dotted")]
    PROGRAMS, FAILING = [("module", "in process"), ("script", "spawned")], FAILING[:1]


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
        (told,) = json.loads(text)["sessions"]
        after, _ = completion(server)
    assert before == during == after == plain
    said = server.log.read_text(errors="replace")
    assert "not recorded" not in said, said
    is_opened = configuration in ("nothing", "plug-ins")
    assert ("are open to whoever reaches" in said) == is_opened
    (session,) = folder.glob("server_*")
    assert told["folder"] == str(session) and told["state"] == "complete"
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
    """The text that it printed, and what was said beside."""
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
    text, said = run_program(tmp_path, launcher, vllm_python, model, way, engine)
    assert text == plain
    assert "not recorded" not in said, said
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
    said = server.log.read_text(errors="replace")
    assert "are open" not in said
    assert "nothing was recorded: sessions of the server: this server has no /start_profile" in said


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


@pytest.mark.parametrize("kind", FAILING)
def test_all_changes_fail_at_once(sonde, vllm_python, model, plain, tmp_path, kind):
    """The server serves as if there were none; each says so once a process, and once at the end."""
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
    said = server.log.read_text(errors="replace")
    for title in ("engine steps", "steps of the ranks", "requests over HTTP"):
        line = f"not recorded from here on: {title} (LookupError: injected)"
        assert said.count(line) == 1, said
        assert said.count(f"not recorded: {title}: LookupError: injected") == 1, said
    assert list((tmp_path / "traces").glob("*_ascend_pt")), "operators are recorded all the same"
