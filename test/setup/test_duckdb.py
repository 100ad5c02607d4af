"""setup/duckdb.sh: library and header of DuckDB are of one version."""

import os
import re
import shutil
import subprocess
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "setup"


def fetch(folder: Path, change: tuple[str, str] = ("", "")) -> subprocess.CompletedProcess[str]:
    """Runs a copy of the script whose list has one text in place of another."""
    for name in ("duckdb.sh", "duckdb.lock", "common.sh", "bind_library.py", "npm.sh"):
        shutil.copy(SETUP / name, folder / name)
    lock = folder / "duckdb.lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    return subprocess.run(
        ["bash", folder / "duckdb.sh"], capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip


def test_other_versions_are_refused(tmp_path: Path):
    """Before anything is loaded."""
    (version,) = re.findall(r"(?m)^header +any +duckdb +(\S+)", (SETUP / "duckdb.lock").read_text())
    done = fetch(tmp_path, (f"duckdb                             {version} ",
                            "duckdb                             1.4.4 "))  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "setup: error: duckdb.lock has a library and a header of different versions: "
        f"1.4.4 {version}\n"
    )
