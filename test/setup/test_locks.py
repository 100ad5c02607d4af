"""setup/requirements-*.lock: of each list of packages, as it is, with a hash of every package."""

import hashlib
import re
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[2] / "setup"
LISTS = sorted(SETUP.glob("requirements-*.txt"))


def pins(text: str) -> dict[str, str]:
    """Versions by name, as the index spells names."""
    found = re.findall(r"(?m)^([\w.-]+)==([^\s;\\]+)", text)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_the_lock_is_of_this_list(path: Path):
    lock = path.with_suffix(".lock")
    made = f"setup/lock.py {path.stem.removeprefix('requirements-')}"
    assert lock.exists(), f"run {made}"
    text = lock.read_text(encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest in text.splitlines()[0], f"{path.name} changed: run {made}"
    wanted = pins(path.read_text(encoding="utf-8"))
    locked = pins(text)
    assert wanted.items() <= locked.items(), "the lock has another version"
    entries = re.split(r"(?m)^(?=\S)", text)
    lacking = [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry]
    assert not lacking
