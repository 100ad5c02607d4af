"""Names that are formulas or commands to a terminal, and secrets: none of them gets away."""

import csv
import json
import re
import subprocess
import sys

import pytest

NAMES = [
    "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-1+cmd|' /C calc'!A0", " =1+1", "\uff1d1+1",
    "\uff0bcmd|x!A0", ";=1+1", "a\t=1+1", "\x1b[2J\x1b[1;1Hcleared", "x\x1b]0;TITLE\x07y",
    "\x08\x08hidden", "b\x9b31m", "a\u202eb",
]  # fmt: skip
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(name="trace", scope="module")
def make_trace(tmp_path_factory):
    """Every name is that of a host operator and of a kernel."""
    events = []
    for i, name in enumerate(NAMES * 2):
        at = i * 200
        call = {"External id": i, "correlation": i}
        events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 50,
             "args": call},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
             "ts": at + 10, "dur": 5, "args": call},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 9, "tid": 7, "ts": at + 60, "dur": 40,
             "args": {"stream": 7, "device": 0, **call}},
        ]  # fmt: skip
    path = tmp_path_factory.mktemp("names") / "trace.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events})
    )
    return path


def runs(cell):
    """Whether a spreadsheet would run a cell, in any country."""
    return any(
        re.match("[=@\uff1d\uff0b\uff0d\uff20]|[+-].*[a-zA-Z(]", part.lstrip(" "))
        for part in re.split("[;\t]", cell)
    )


def csv_files(folder):
    found = [path for path in folder.rglob("*.csv") if path.stat().st_size]
    assert found
    return found


@pytest.mark.parametrize("command", ["analyse", "mindstudio", "compare", "cluster"])
def test_no_table_of_text_runs(run_sonde, trace, tmp_path, command):
    out = tmp_path / "out"
    words = {
        "analyse": ("analyse", trace, "-o", out),
        "mindstudio": ("analyse", trace, "-o", out, "--export-type", "mindstudio"),
        "compare": ("compare", "-d", trace, "-bp", trace, "-o", out, "--export_type", "csv"),
        "cluster": (
            "cluster",
            "-m",
            "compute_op_sum",
            "-d",
            trace.parent,
            "-o",
            out,
            "--export_type",
            "text",
        ),
    }[command]
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    assert not COMMANDS.search(done.stdout.replace("\n", "")) and not COMMANDS.search(
        done.stderr.replace("\n", "")
    )
    for path in csv_files(out):
        with path.open(newline="") as file:
            bad = {cell for row in csv.reader(file) for cell in row if runs(cell)}
        assert bad == set(), path.name


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_query_commands_a_terminal(run_sonde, trace, form):
    done = run_sonde(
        "query", trace, "SELECT DISTINCT name FROM slice ORDER BY name", "--format", form
    )
    assert done.returncode == 0, done.stderr
    if form == "table":
        assert not COMMANDS.search(done.stdout.replace("\n", ""))
    elif form == "json":
        assert "\x1b" not in done.stdout
        assert set(NAMES) <= {row["name"] for row in json.loads(done.stdout)}
    else:
        assert not any(runs(row[0]) for row in csv.reader(done.stdout.splitlines(True)))
        assert "\r" not in done.stdout


def test_secrets_are_not_recorded(run_sonde, tmp_path, sonde):
    """In none of the files of a capture and of its deliverables."""
    root = sonde.parents[3]
    program = root / "test" / "store" / "record_program.py"
    library = sonde.parents[1] / "lib" / "libsonde_record.so"
    secret = "pa55w0rd-of-mine"
    words = ["--api-key", secret, f"--password={secret}", f"redis://me:{secret}@host/0"]
    subprocess.run([sys.executable, program, library, tmp_path, *words], check=True, timeout=60)
    done = run_sonde("analyse", tmp_path, "--export-type", "text", "--export-type", "db")
    assert done.returncode == 0, done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
    done = run_sonde(
        "query", next(tmp_path.glob("*_ascend_pt")), "SELECT name FROM process", "--format", "csv"
    )
    assert "--api-key *** --password=*** redis://***@host/0" in done.stdout


def test_a_pack_is_its_owners_and_has_no_secrets(run_sonde, tmp_path):
    script = tmp_path / "train.sh"
    script.write_text("torchrun --nproc-per-node 2 t.py --api-key k3y-of-mine --lr 1e-3\n")
    env = {
        "DB_PWD": "s3cret",
        "GIT_PAT": "s3cret",
        "MY_URL": "https://u:s3cret@h/x",
        "A_COOKIE": "s3cret",
        "PLAIN": "stays",
    }
    done = run_sonde("probe", "config_check", "-d", script, "-o", "pack.zip", env=env)
    assert done.returncode == 0, done.stderr
    pack = tmp_path / "pack.zip"
    assert pack.stat().st_mode & 0o777 == 0o600
    content = pack.read_bytes()
    assert b"s3cret" not in content and b"k3y-of-mine" not in content
    assert (
        b"stays" in content
        and b"https://***@h/x" in content
        and b"1e-3" in content.replace(b"0.001", b"1e-3")
    )
