"""SONDE_DEBUG=1: the line on an error of ours is followed by its traceback."""

import pytest

SAYERS = {
    "report": "from sonde import _report; _report.log('a fault', error=True)",
    "profiler": "from sonde.session import _console; _console.error('a fault')",
    "debugger": "from sonde.torch.precision import _errors; _errors.warning('a fault')",
}
PROGRAM = """
import sys
sys.path.insert(0, {root!r})
def fails():
    raise LookupError("of ours")
try:
    fails()
except LookupError:
    {say}
"""


@pytest.mark.usefixtures("need_torch")
@pytest.mark.parametrize("sayer", SAYERS)
@pytest.mark.parametrize("debug", [None, "0", "1"])
def test_lines_have_their_traceback(run_hooked, package_root, sayer, debug):
    program = PROGRAM.format(root=package_root, say=SAYERS[sayer])
    done = run_hooked("-c", program, SONDE_DEBUG=debug, SONDE_ATTACH=None)
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert printed.count("a fault\n") == 1
    assert ("in fails" in printed and "LookupError: of ours" in printed) == (debug == "1")


@pytest.mark.usefixtures("need_torch")
@pytest.mark.parametrize("debug", [None, "1"])
def test_start_up_that_fails(run_hooked, tmp_path, debug):
    """The part of the hook that cannot use the package, since it is the one that is missing."""
    (tmp_path / "sonde.py").write_text("")
    done = run_hooked("-c", "import torch", SONDE_DEBUG=debug)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert "another module called sonde" in lines[0]
    assert ("Traceback" in done.stderr) == (debug == "1")
    assert debug == "1" or len(lines) == 1


def test_without_an_error_there_is_none(run_hooked, package_root):
    program = f"import sys; sys.path.insert(0, {package_root!r})\n{SAYERS['report']}"
    done = run_hooked("-c", program, SONDE_DEBUG="1", SONDE_ATTACH=None)
    assert done.stderr == "sonde: a fault\n"
