"""Guides typed as they stand where their package is not installed: one line advises what to do."""

import pytest

REMEDIES = {
    "vllm_mindspore": "vllm.entrypoints.openai.api_server",
    "vllm_ascend": "pip install vllm-ascend",
    "mindspore": "pip install mindspore",
    "mindspeed_llm": "PYTHONPATH",
    "msprobe": "sonde run --provide msprobe",
    "torch_npu": "sonde run --provide torch_npu",
    "vllm": "with the Python of the environment that has it",
    "torch": "with the Python of the environment that has it",
}


def hints(done):
    return [line for line in done.stderr.splitlines() if line.startswith("sonde: this Python has")]


@pytest.mark.parametrize("package", REMEDIES)
def test_a_script_that_imports_it(package, run_hooked):
    # None among the modules: as if it were not installed.
    done = run_hooked(
        "-c", f"import sys\nsys.modules['{package}'] = None\nimport {package}.entrypoints"
    )
    assert done.returncode == 1
    (line,) = hints(done)
    assert REMEDIES[package] in line


def test_a_guide_that_runs_it_as_a_module(run_hooked):
    words = ("-m", "vllm_mindspore.entrypoints", "vllm.entrypoints.openai.api_server")
    done = run_hooked("-W", "ignore", *words, "--model", "x")
    assert done.returncode == 1
    (line,) = hints(done)
    assert REMEDIES["vllm_mindspore"] in line


@pytest.mark.parametrize(
    "program",
    [
        "try:\n    import vllm_mindspore\nexcept ImportError:\n    pass",
        "import some_package_of_the_user",
        "raise ValueError('mindspore')",
    ],
)
def test_other_errors_get_no_hint(program, run_hooked):
    assert not hints(run_hooked("-c", program))
    assert not hints(run_hooked("-m", "some_package_of_the_user"))
