"""The start-up hook without torch: what it costs, whom it lets through, its messages."""

import os
import re
import signal
import subprocess
import sys

import pytest
from conftest import INJECT, hooked_environment

OWN = "import sys; print('own sitecustomize', file=sys.stderr); value = 7\n"


@pytest.fixture(name="fake_torch")
def make_fake_torch(tmp_path):
    """A package named torch that is none: attaching to it must fail."""
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("answer = 42\n")
    return package.parent


def path_with(folder):
    return f"{INJECT}{os.pathsep}{folder}"


def test_costs_less_than_a_millisecond_when_idle(tmp_path):
    """Against an empty sitecustomize, with compiled files as an installed package has them."""
    (tmp_path / "sitecustomize.py").write_text("")
    base = hooked_environment(tmp_path, SONDE_ATTACH=None, PYTHONDONTWRITEBYTECODE=None)
    base["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    hooked_us, empty_us = [], []
    for _ in range(8):
        hooked_us.append(_sitecustomize_us(base))
        empty_us.append(_sitecustomize_us({**base, "PYTHONPATH": str(tmp_path)}))
    assert min(hooked_us) - min(empty_us) < 1000


def _sitecustomize_us(environment):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = next(line for line in done.stderr.splitlines() if line.endswith(" sitecustomize"))
    return int(line.split("|")[1])


def test_idle_hook_imports_nothing(tmp_path):
    program = "import sys; print(*sorted(sys.modules))"
    plain = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env=hooked_environment(tmp_path, PYTHONPATH=None),
    )  # fmt: skip
    hooked = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env=hooked_environment(tmp_path, SONDE_ATTACH=None),
    )  # fmt: skip
    assert set(hooked.stdout.split()) - set(plain.stdout.split()) <= {"sitecustomize"}


@pytest.mark.parametrize("attach", ["profile", None])
def test_the_users_own_sitecustomize_runs(run_hooked, tmp_path, attach):
    (tmp_path / "sitecustomize.py").write_text(OWN)
    program = "import sitecustomize; print(sitecustomize.value, sitecustomize.__file__)"
    done = run_hooked("-c", program, PYTHONPATH=path_with(tmp_path), SONDE_ATTACH=attach)
    assert done.stdout.split() == ["7", str(tmp_path / "sitecustomize.py")]
    assert done.stderr == "own sitecustomize\n"


def test_errors_of_the_users_own_sitecustomize_look_as_ever(run_hooked, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('theirs')\n")
    done = run_hooked("-c", "print('on')", PYTHONPATH=path_with(tmp_path))
    alone = run_hooked("-c", "print('on')", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", alone.stderr)


@pytest.mark.parametrize("flag", ["-E", "-I", "-S"])
def test_out_of_reach_is_let_alone(run_hooked, flag):
    done = run_hooked(flag, "-c", "import sys; print('sitecustomize' in sys.modules)")
    assert done.returncode == 0 and done.notes == []


def test_a_program_without_torch(run_hooked):
    done = run_hooked("-c", "import sys; print('hello'); sys.exit(7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, "hello\n", "")
    assert "hello" in done.noted("noframework")[0]


def test_a_signal_passes_through(run_hooked):
    done = run_hooked("-c", "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)")
    assert done.returncode == -signal.SIGUSR1


def test_failing_to_attach_costs_one_line(run_hooked, fake_torch):
    program = "import torch, sys; print(torch.answer, type(torch.__loader__).__name__)"
    done = run_hooked("-c", program, PYTHONPATH=path_with(fake_torch))
    assert (done.returncode, done.stdout) == (0, "42 SourceFileLoader\n")
    assert re.fullmatch(r"sonde: this process is not recorded: .+\n", done.stderr)
    assert len(done.noted("failed")) == 1


def test_missing_libraries_cost_one_line(run_hooked, fake_torch, tmp_path):
    done = run_hooked(
        "-c", "import torch; print(torch.answer)",
        PYTHONPATH=path_with(fake_torch), SONDE_HOME=str(tmp_path), PYTHONDONTWRITEBYTECODE="1",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert len(done.stderr.splitlines()) <= 1


def test_a_failing_import_of_torch_is_the_programs(run_hooked, fake_torch):
    (fake_torch / "torch" / "__init__.py").write_text("raise ImportError('broken torch')\n")
    program = (
        "try:\n    import torch\nexcept ImportError as problem:\n    print(problem)\n"
        "import sys; print('torch' in sys.modules)"
    )
    done = run_hooked("-c", program, PYTHONPATH=path_with(fake_torch))
    assert (done.returncode, done.stdout, done.stderr) == (0, "broken torch\nFalse\n", "")


def test_unknown_word_in_sonde_attach(run_hooked, fake_torch):
    done = run_hooked(
        "-c", "import torch", PYTHONPATH=path_with(fake_torch), SONDE_ATTACH="dump-it"
    )
    assert done.stderr == "sonde: this process is not recorded: SONDE_ATTACH=dump-it is not known\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-m", "torch.distributed.run"], "launcher torch.distributed.run"),
        (
            ["-W", "ignore", "-Xdev", "-um", "torch.distributed.run"],
            "launcher torch.distributed.run",
        ),
        (["torchrun"], "launcher torchrun"),
        (["-m", "torch._inductor.compile_worker"], "compile worker of Inductor"),
    ],
)
def test_launchers_and_compile_workers_are_left_out(
    run_hooked, fake_torch, tmp_path, words, reason
):
    package = fake_torch / "torch"
    for name in ("distributed", "_inductor"):
        (package / name).mkdir()
        (package / name / "__init__.py").write_text("")
    for path in (package / "distributed" / "run.py", package / "_inductor" / "compile_worker.py",
                 tmp_path / "torchrun"):  # fmt: skip
        path.write_text("import torch\n")
    # Clusters set RANK before the launcher runs.
    done = run_hooked(*words, PYTHONPATH=path_with(fake_torch), RANK="0")
    assert (done.returncode, done.stderr, done.noted("skipped")) == (0, "", [reason])


@pytest.mark.parametrize("words", [["train.py", "deepspeed"], ["-c", "import torch", "torchrun"]])
def test_arguments_of_a_program_make_it_no_launcher(run_hooked, fake_torch, tmp_path, words):
    (tmp_path / "train.py").write_text("import torch\n")
    done = run_hooked(*words, PYTHONPATH=path_with(fake_torch))
    assert done.noted("skipped") == [] and "not recorded" in done.stderr  # it is no real torch


def test_import_hooks_of_old_are_let_alone(run_hooked):
    program = """if True:
        import sys
        class Old:
            def find_module(self, name, path=None): return None
        sys.meta_path.insert(0, Old())
        from sonde._seams import when_imported
        when_imported("colorsys", lambda module: print("changed"))
        import colorsys
    """
    done = run_hooked("-W", "ignore", "-c", program)
    assert (done.returncode, done.stdout) == (0, "changed\n"), done.stderr


def test_sonde_can_be_imported_without_installation(run_hooked):
    done = run_hooked("-c", "import sonde.mstx; sonde.mstx.mark('x'); print(sonde.__version__)")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_of_the_program_called_sonde_is_its_own(run_hooked, fake_torch, tmp_path):
    (tmp_path / "sonde.py").write_text("word = 'probe of the sea'\n")
    (tmp_path / "program.py").write_text("import sonde, torch; print(sonde.word, torch.answer)\n")
    done = run_hooked("program.py", PYTHONPATH=path_with(fake_torch))
    assert (done.returncode, done.stdout) == (0, "probe of the sea 42\n")
    assert "not recorded: the program has another module called sonde" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_run_list_that_is_gone_is_not_made_again(tmp_path, fake_torch):
    """A process that outlives its launcher must not leave a list behind, nor complain."""
    environment = hooked_environment(tmp_path, PYTHONPATH=path_with(fake_torch))
    (tmp_path / "run_list").unlink()
    for program in ("import torch", "pass"):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert "run list" not in done.stderr
    assert not (tmp_path / "run_list").exists()
