"""The wheel holds everything: it is made, installed into a clean environment and used there.

It is made as `make wheel` makes it, but of what is built already (PRESET, default dev). No compiler
and no build tool is on the path of what runs after that.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAINING = """
import torch
layer = torch.nn.Linear(4, 4)
for _ in range(3):
    layer(torch.ones(2, 4)).sum().backward()
"""


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", name="installed")
def install(wheel, tmp_path_factory):
    """A new environment with the wheel in it; torch of the test's Python is in reach."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    below = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    lines = [f"import site; site.addsitedir({path!r})\n" for path in below]
    (Path(site) / "below.pth").write_text("".join(lines))
    return folder


@pytest.fixture(name="environment")
def clean_environment(installed):
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    return {**kept, "PATH": str(installed / "bin")}


def test_name_allows_any_python_3_and_names_the_oldest_c_library(wheel):
    assert re.search(r"-py3-none-manylinux_2_\d+_x86_64\.whl$", wheel.name)


@pytest.mark.skipif(
    os.environ.get("SONDE_THOROUGH") != "1", reason="with SONDE_THOROUGH=1: make test-thorough"
)
def test_two_wheels_of_one_build_are_the_same_bytes(wheel, build, tmp_path):
    run(sys.executable, ROOT / "tools" / "wheel.py", build, tmp_path)
    (again,) = tmp_path.glob("sonde-*.whl")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()
    (parts,), (parts_again,) = wheel.parent.glob("*.cdx.json"), tmp_path.glob("*.cdx.json")
    assert parts_again.read_bytes() == parts.read_bytes()


def test_nothing_else_is_installed_beside_torch_or_a_server(wheel):
    """pip resolves all requirements here, and finds none that could conflict with others."""
    printed = run(
        sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--quiet",
        "--disable-pip-version-check", "--report", "-", wheel,
    )  # fmt: skip
    (package,) = json.loads(printed)["install"]
    assert package["metadata"]["name"] == "sonde"
    needs = package["metadata"].get("requires_dist", [])
    assert all("extra ==" in need for need in needs), needs


def test_notices_and_list_of_parts_name_the_same_libraries(wheel, installed, environment):
    printed = run(installed / "bin" / "sonde", "--licenses", env=environment)
    names, notices = printed.split("\n\n", 1)
    shown = {line.strip() for line in names.splitlines()[1:]}
    (path,) = wheel.parent.glob("sonde-*.cdx.json")
    parts = json.loads(path.read_text())["components"]
    assert shown == {"Sonde", *(f"{part['name']} {part['version']}" for part in parts)}
    # Linked, included, loaded, and built into the page.
    assert {"zlib", "cli11", "duckdb", "uplot"} <= {part["name"] for part in parts}
    assert "Jean-loup Gailly" in notices


def test_command_prints_its_version(wheel, installed, environment):
    version = run(installed / "bin" / "sonde", "--version", env=environment)
    stated = run(installed / "bin" / "python", "-c", "import sonde; print(sonde.__version__)")
    assert stated.strip() in version
    assert wheel.name.startswith(f"sonde-{stated.strip()}-")


def test_libraries_are_inside_or_on_every_machine(installed):
    names = ("linux-vdso", "ld-linux", "libc.", "libm.", "libdl.", "libpthread.", "librt.")
    everywhere = (*names, "libgcc_s.", "libstdc++.")
    (package,) = installed.glob("lib/python3*/site-packages/sonde")
    for file in (package / "bin" / "sonde", *(package / "lib").glob("*.so*")):
        # As in the command: its RPATH serves the libraries that our libraries need.
        beside = {**os.environ, "LD_LIBRARY_PATH": str(package / "lib")}
        for line in run("ldd", file, env=beside).splitlines():
            name = Path(line.split()[0]).name
            if "statically linked" not in line:
                inside = str(package) in line
                assert inside != name.startswith(everywhere), f"{file.name} takes {line.strip()}"


def test_program_is_recorded_and_analysed(installed, environment, tmp_path):
    pytest.importorskip("torch")
    program = tmp_path / "training.py"
    program.write_text(TRAINING)
    sonde, python = installed / "bin" / "sonde", installed / "bin" / "python"
    output = tmp_path / "profile"
    run(sonde, "run", "--profile-save-path", output, "--", python, program, env=environment)
    traces = list(output.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    assert len(traces) == 1
    assert "aten::addmm" in traces[0].read_text()
