"""vLLM's configuration of the profiler, made of the variables of older versions; needs no vLLM."""

import json
import sys
from types import SimpleNamespace

import pytest
from sonde._inject import _command
from sonde._inject._options import Options
from sonde.vllm import _alone, _capture, _configuration, _engine, _server


@pytest.fixture(autouse=True)
def forget_variables(monkeypatch):
    ours = (_configuration.FOLDER_VARIABLE, _configuration._OURS, _server._WARNED,
            _configuration._OTHER_REPORTED)  # fmt: skip
    for name in [*ours, *dict(_configuration._SWITCHES), *dict(_configuration._NUMBERS)]:
        monkeypatch.setenv(name, "")  # so that what a test sets is gone with it
        monkeypatch.delenv(name)


def test_variables_of_older_versions(monkeypatch, capsys):
    assert _configuration.of_environment() == {}
    variables = {
        "VLLM_TORCH_PROFILER_DIR": "/traces",
        "VLLM_TORCH_PROFILER_RECORD_SHAPES": "1",
        "VLLM_TORCH_PROFILER_WITH_PROFILE_MEMORY": "1",
        "VLLM_TORCH_PROFILER_WITH_STACK": "0",
        "VLLM_TORCH_PROFILER_WITH_FLOPS": "1",
        "VLLM_TORCH_PROFILER_USE_GZIP": "0",
        "VLLM_TORCH_PROFILER_DUMP_CUDA_TIME_TOTAL": "0",
        "VLLM_TORCH_PROFILER_DISABLE_ASYNC_LLM": "1",
        "VLLM_PROFILER_DELAY_ITERS": "2",
        "VLLM_PROFILER_MAX_ITERS": "many",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _configuration.of_environment() == {
        "profiler": "torch",
        "torch_profiler_dir": "/traces",
        "torch_profiler_record_shapes": True,
        "torch_profiler_with_memory": True,
        "torch_profiler_with_stack": False,
        "torch_profiler_with_flops": True,
        "torch_profiler_use_gzip": False,
        "torch_profiler_dump_cuda_time_total": False,
        "ignore_frontend": True,
        "delay_iterations": 2,
    }
    assert "VLLM_PROFILER_MAX_ITERS=many" in capsys.readouterr().err


def test_a_configuration_of_the_program_stays():
    given = SimpleNamespace(profiler_config=SimpleNamespace(profiler="cuda"))
    assert not _configuration.fill(given, Options())
    assert vars(given.profiler_config) == {"profiler": "cuda"}


def test_a_program_without_one_gets_ours(tmp_path):
    given = SimpleNamespace(profiler_config=SimpleNamespace(profiler=None))
    assert _configuration.fill(given, Options(save_path=str(tmp_path), record_shapes=True))
    assert given.profiler_config.profiler == "torch"
    assert given.profiler_config.torch_profiler_dir == str(tmp_path)
    assert given.profiler_config.torch_profiler_record_shapes is True


def test_a_version_that_reads_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(_configuration.FOLDER_VARIABLE, "")
    assert _configuration.fill(SimpleNamespace(), Options(save_path=str(tmp_path)))
    assert _configuration.of_environment()["torch_profiler_dir"] == str(tmp_path)
    # The program's next engine finds the variable, which is not the user's.
    assert _configuration.fill(SimpleNamespace(), Options(save_path=str(tmp_path)))
    monkeypatch.setenv(_configuration.FOLDER_VARIABLE, "/theirs")
    assert not _configuration.fill(SimpleNamespace(), Options(save_path=str(tmp_path)))


@pytest.mark.parametrize(("given", "kind"), [
    ('vllm serve m --profiler-config {"profiler":"cuda"}', "cuda"),
    ("vllm serve m --profiler-config.profiler=proton", "proton"),
    ("vllm serve m --profiler-config.profiler cuda", "cuda"),
    ("vllm serve m --config f\nprofiler-config:\n  profiler: 'proton'", "proton"),
    ('vllm serve m --profiler-config {"profiler":"torch","torch_profiler_dir":"/cuda"}', ""),
])  # fmt: skip
def test_a_profiler_that_is_not_torchs(monkeypatch, capsys, tmp_path, given, kind):
    """The ranks are left to it; one line a server names what is recorded beside, and where."""
    monkeypatch.setenv(_configuration._OTHER_REPORTED, "")
    options = Options(save_path=str(tmp_path))
    assert _configuration.other_profiler_in(given) == kind
    for _ in range(2):
        _configuration.warn_of_other(kind, options)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == bool(kind)
    assert all(f"profiler {kind}:" in line and str(tmp_path) in line for line in lines)


@pytest.mark.parametrize("executor", ["UniProcExecutor", "MultiprocExecutor"])
def test_engine_beside_a_profiler_that_is_not_torchs(monkeypatch, tmp_path, executor):
    """Its session goes where Sonde's captures go, and it records itself: no rank does."""
    monkeypatch.setenv("SONDE_SERVER_ID", "1_2")
    monkeypatch.setenv(_configuration._OTHER_REPORTED, "1")
    monkeypatch.setattr(_capture, "options", Options(save_path=str(tmp_path)))
    started = []
    monkeypatch.setattr(_capture.ProcessCapture, "start", lambda _, path: started.append(path))
    config = SimpleNamespace(
        profiler_config=SimpleNamespace(profiler="cuda", torch_profiler_dir=""),
        model_config=SimpleNamespace(enforce_eager=True, served_model_name="tiny"),
    )
    core = SimpleNamespace(vllm_config=config, model_executor=type(executor, (), {})())
    capture = _capture.ProcessCapture("engine0")
    _engine._begin(core, capture, None)
    (session,) = tmp_path.glob("server_1_2_*")
    assert started == [str(session)] and capture.session == str(session)


@pytest.mark.parametrize(("words", "calls"), [
    (["vllm", "serve", "m"], "POST /start_profile and /stop_profile"),
    (["vllm", "serve", "m", "--grpc"], "StartProfile and StopProfile (gRPC)"),
    (["/site/vllm/entrypoints/launchers/grpc_server.py", "--model", "m"],
     "StartProfile and StopProfile (gRPC)"),
    (["vllm", "serve", "m", "--headless"], ""),
])  # fmt: skip
def test_who_is_asked_for_sessions(monkeypatch, capsys, tmp_path, words, calls):
    """Each server gets a configuration; who can be reached is reported, with how."""
    for variable in ("SONDE_SERVER_HEADLESS", _server._WARNED):
        monkeypatch.setenv(variable, "")
    monkeypatch.setattr(sys, "argv", list(words))
    _server._ask_for_routes(Options(save_path=str(tmp_path)), (0, 33))
    assert "--profiler-config" in sys.argv
    reported = capsys.readouterr().err
    assert (f"sonde: {calls} are open to whoever reaches" in reported) == bool(calls)
    assert bool(reported) == bool(calls)
    assert (_alone.reason() is not None) == ("--headless" in words)


def test_a_server_names_it_once(monkeypatch, capsys):
    """Its children import the module of its command, with its words, before they know a parent."""
    monkeypatch.setenv(_server._WARNED, "")
    monkeypatch.setattr(sys, "argv", ["vllm", "serve", "--profiler-config.torch_profiler_use_gzip"])
    for _ in range(3):
        _server._ask_for_routes(Options(), (0, 32))
    assert capsys.readouterr().err.count("has no effect") == 1


API_SERVER = "vllm.entrypoints.openai.api_server"
WAYS = (
    (["/env/bin/vllm", "serve", "m"], ["/env/bin/python", "/env/bin/vllm", "serve", "m"]),
    (["-m", "--model", "m"], ["python3", "-m", API_SERVER, "--model", "m"]),
    (["-m", "serve", "m"], ["python3", "-u", "-m", "vllm.entrypoints.cli.main", "serve", "m"]),
    ([f"/env/{API_SERVER.replace('.', '/')}.py", "--model", "m"], ["python3", "-m", API_SERVER]),
    (
        ["-m", API_SERVER, "--model", "m"],
        ["python3", "-m", "vllm_mindspore.entrypoints", API_SERVER],
    ),
)


@pytest.mark.parametrize(("argv", "command"), WAYS)
@pytest.mark.parametrize("version", [(0, 11, 2), (0, 32, 0)])
def test_routes_are_opened_and_reported(argv, command, version, monkeypatch, capsys, tmp_path):
    """However the server is started; ``python -m`` has no name for its module while it is found."""
    monkeypatch.setattr(sys, "argv", list(argv))
    monkeypatch.setattr(_command, "command_line", lambda: command)
    monkeypatch.setenv(_configuration.FOLDER_VARIABLE, "")
    words = sys.argv
    words += ["--port", "8123", "--host=10.0.0.1"]
    _server._ask_for_routes(Options(save_path=str(tmp_path)), version)
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "http://10.0.0.1:8123 (--no-profile-routes" in error
    assert sys.argv is words, "the list that runpy goes on to change"
    if version < (0, 13):
        assert _configuration.of_environment()["torch_profiler_dir"] == str(tmp_path)
    else:
        assert json.loads(words[words.index("--profiler-config") + 1]) == {
            **_configuration.of_options(Options(save_path=str(tmp_path)))
        }


@pytest.mark.parametrize("version", [(0, 11, 2), (0, 32, 0)])
def test_routes_stay_closed_where_that_is_asked_for(version, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["vllm", "serve", "m"])
    monkeypatch.setenv(_configuration.FOLDER_VARIABLE, "")
    _server._ask_for_routes(Options(routes=False), version)
    assert sys.argv == ["vllm", "serve", "m"] and not _configuration.of_environment()
    assert capsys.readouterr().err == ""
    # What the user configured with the variables is the user's.
    monkeypatch.setenv(_configuration.FOLDER_VARIABLE, "/theirs")
    _server._ask_for_routes(Options(routes=False), version)
    assert ("--profiler-config" in sys.argv) == (version > (0, 15))


def test_programs_get_no_routes(monkeypatch, capsys):
    for argv in (["train.py", "serve.py"], ["-c"], ["vllm", "bench", "serve"]):
        monkeypatch.setattr(sys, "argv", list(argv))
        _server._ask_for_routes(Options(), (0, 32))
        assert sys.argv == argv and capsys.readouterr().err == ""


def test_where_a_server_listens():
    file = '\nmodel: x\nport: 9000  # mine\n"host": 127.0.0.1\n'
    assert _server._address(["serve", "--config", "FILE"], file) == "http://127.0.0.1:9000"
    assert _server._address(["serve", "--port=1"], file) == "http://127.0.0.1:1"
    assert _server._address(["serve", "--uds", "/run/v"], "") == "/run/v"
    assert _server._address(["serve"], "") == "http://0.0.0.0:8000"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.11.2.post2", (0, 11, 2)), ("0.9.1", (0, 9, 1)), ("0.32.0+cpu", (0, 32, 0)),
     ("0.33rc1.dev2", (0, 33))],
)  # fmt: skip
def test_versions_have_three_numbers(text, numbers, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: text)
    assert _server._version() == numbers


@pytest.mark.parametrize(
    "words, text",
    [
        (["serve", "--profiler-config.profiler=torch"], None),
        (["serve", "--profiler_config", "{}"], None),
        (["serve", "--config", "FILE"], "model: x\nprofiler-config:\n  profiler: torch\n"),
        (["serve", "--config=FILE"], "'profiler_config': {profiler: torch}\n"),
    ],
)
def test_where_a_server_is_configured(words, text, tmp_path):
    file = tmp_path / "server.yaml"
    file.write_text(text or "port: 1  # profiler-config\n")
    words = [word.replace("FILE", str(file)) for word in words]
    assert _configuration.is_in(" ".join(words) + _configuration.file_of(words))
    file.write_text("port: 1  # profiler-config\n")
    others = ["serve", "--config", str(file)]
    assert not _configuration.is_in(" ".join(others) + _configuration.file_of(others))
    assert _configuration.file_of(["--config", "/nowhere"]) == ""


@pytest.mark.parametrize(
    "given", ['{"torch_profiler_use_gzip":true}', "--profiler-config.torch-profiler-use-gzip=1"]
)
def test_what_has_no_effect_is_named(given, capsys):
    _configuration.warn(given)
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 1 and "torch_profiler_use_gzip has no effect" in printed[0]
