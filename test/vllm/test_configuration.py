"""vLLM's configuration of the profiler, made of the variables of older versions; needs no vLLM."""

import sys
from types import SimpleNamespace

import pytest
from sonde._inject._options import Options
from sonde.vllm import _configuration, _server


@pytest.fixture(autouse=True)
def forget_variables(monkeypatch):
    for name in [_configuration.FOLDER_VARIABLE, *dict(_configuration._SWITCHES),
                 *dict(_configuration._NUMBERS)]:  # fmt: skip
        monkeypatch.delenv(name, raising=False)


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
    assert not _configuration.fill(SimpleNamespace(), Options())


def test_a_server_names_it_once(monkeypatch, capsys):
    """Its children import the module of its command, with its words, before they know a parent."""
    monkeypatch.setenv(_server._WARNED, "")
    monkeypatch.setattr(sys, "argv", ["vllm", "serve", "--profiler-config.torch_profiler_use_gzip"])
    for _ in range(3):
        _server._ask_for_routes(Options())
    assert capsys.readouterr().err.count("has no effect") == 1


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
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "torch_profiler_use_gzip has no effect" in said[0]
