"""`sonde analyse` and `sonde query` where the disk of a capture is full."""

import json
import os
import shutil
import subprocess

import pytest

pytest.importorskip("torch")

PROGRAM = """
import torch

for step in range(3000):
    torch.ones(4) + 1
"""


@pytest.fixture(scope="module", name="recorded")
def record(sonde, prepared, tmp_path_factory):
    """A capture that is not analysed."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(PROGRAM)
    command = [str(sonde), "run", "--no-analyse", "--profile-save-path", str(folder / "profile")]
    done = subprocess.run([*command, "--", prepared.python, str(folder / "train.py")],
                          capture_output=True, text=True, timeout=240, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (span,) = (folder / "profile").glob("*_ascend_pt")
    return span


@pytest.fixture(name="disk")
def make_disk(recorded, mount_disk):
    """disk(left) gives a disk with the capture and that many free bytes."""

    def make(left):
        disk = mount_disk("48m")
        shutil.copytree(recorded, disk / "capture")
        fill(disk, left)
        return disk

    return make


def fill(disk, left):
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with open(disk / "other", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - left)


def files_of(folder):
    return sorted(path.name for path in folder.rglob("*"))


def events_of(run_sonde, path, **options):
    done = run_sonde("query", path, "SELECT count(*) FROM slice", "--format", "csv", **options)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1]), done.stderr.splitlines()


# Full at once, in the index, in the database.
@pytest.mark.parametrize("left", [0, 400_000, 1_500_000])
def test_the_store_goes_to_the_cache_folder(run_sonde, disk, tmp_path, left):
    capture = disk(left) / "capture"
    before = files_of(capture)
    options = {"env": {"XDG_CACHE_HOME": str(tmp_path / "cache")}}
    done = run_sonde("analyse", capture, "-o", tmp_path / "out", **options)
    assert done.returncode == 0, done.stderr
    stores = tmp_path / "cache/sonde/stores"
    assert done.stderr.splitlines()[-1] == (
        f"sonde: no disk space for the trace store in '{capture}/SONDE': it is in '{stores}'"
    )
    assert (tmp_path / "out/capture/ASCEND_PROFILER_OUTPUT/trace_view.json").is_file()
    assert not (tmp_path / "out/capture/SONDE").exists()
    assert files_of(capture) == before
    assert len(list(stores.glob("*.duckdb"))) == 1
    count, printed = events_of(run_sonde, capture, **options)
    assert count > 6000 and printed == []  # found where it lies


def test_the_store_goes_to_the_output_folder_when_the_cache_is_full(run_sonde, disk, tmp_path):
    full = disk(0)
    options = {"env": {"XDG_CACHE_HOME": str(full / "cache")}}
    done = run_sonde("analyse", full / "capture", "-o", tmp_path / "out", **options)
    assert done.returncode == 0, done.stderr
    assert f"it is in '{tmp_path}/out/capture/SONDE'" in done.stderr
    assert (tmp_path / "out/capture").stat().st_mode & 0o077  # like any other folder of the user
    assert not list(full.rglob("*.tmp*"))
    count, printed = events_of(run_sonde, tmp_path / "out/capture", **options)
    assert count > 6000 and printed == []


def test_a_full_output_disk_is_reported_once(run_sonde, disk, mount_disk, tmp_path, one_error_line):
    out = mount_disk("1m")
    fill(out, 8192)
    options = {"env": {"XDG_CACHE_HOME": str(tmp_path / "cache")}}
    done = run_sonde("analyse", disk(0) / "capture", "-o", out, **options)
    one_error_line(done, 1, f"'{out}", "No space left on device")


def test_no_place_at_all(run_sonde, disk, one_error_line):
    full = disk(0)
    options = {"env": {"XDG_CACHE_HOME": str(full / "cache")}}
    done = run_sonde("analyse", full / "capture", **options)
    one_error_line(done, 1, "No space left on device (free some disk space")
    assert not list(full.rglob("*.tmp*"))


@pytest.fixture(scope="module", name="foreign")
def make_foreign(tmp_path_factory):
    """A trace of another tool, whose store can lie in the cache only."""
    events = [
        {"ph": "X", "name": f"operator {i % 5000}", "pid": 1, "tid": i % 7, "ts": i * 10, "dur": 5}
        for i in range(250_000)
    ]
    path = tmp_path_factory.mktemp("foreign") / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


# Full at once, in the index, in the database, at its end.
@pytest.mark.parametrize("left", [0, 200_000, 500_000, 900_000, 1_300_000])
def test_a_full_cache_names_the_cause(run_sonde, foreign, mount_disk, left):
    cache = mount_disk("40m")
    fill(cache, left)
    options = {"env": {"XDG_CACHE_HOME": str(cache)}}
    done = run_sonde("query", foreign, "SELECT count(*) FROM slice", **options)
    assert done.returncode == 1
    _, printed = done.stderr.splitlines()  # behind the line that it reads
    assert f"cannot write '{cache}" in printed
    assert printed.endswith("No space left on device (free some disk space or choose another disk)")
    assert "transaction" not in done.stderr and "invalidated" not in done.stderr
    assert not [path for path in cache.rglob("*.partial*")]
    (cache / "other").unlink()
    done = run_sonde("query", foreign, "SELECT count(*) FROM slice", **options)
    assert done.returncode == 0 and "250000" in done.stdout


def test_what_a_disk_has_no_room_for_is_not_begun(run_sonde, foreign, mount_disk, tmp_path):
    out = mount_disk("2m")
    options = {"env": {"XDG_CACHE_HOME": str(tmp_path / "cache")}}
    words = ("analyse", foreign, "--export-type", "text", "-o")
    done = run_sonde(*words, out, **options)
    assert done.returncode == 1
    (printed,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert (
        "the deliverables take at least 19.1 MiB, and " in printed
        and f" free for '{out}" in printed
    )
    assert printed.endswith("or ask for less with --export-type db")
    assert not list(out.iterdir())
    # The reported size is true: the same analysis passes where it just fits.
    done = run_sonde(*words, tmp_path / "out", **options)
    assert done.returncode == 0, done.stderr
    sizes = [path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert 20_000_000 < sum(sizes) < 30_000_000
    done = run_sonde(*words, mount_disk(f"{sum(sizes) // 1000 + 500}k"), **options)
    assert done.returncode == 0, done.stderr


def test_a_query_of_a_capture_on_a_full_disk(run_sonde, disk, tmp_path):
    capture = disk(0) / "capture"
    options = {"env": {"XDG_CACHE_HOME": str(tmp_path / "cache")}}
    count, printed = events_of(run_sonde, capture, **options)
    assert count > 6000
    assert printed[-1].startswith(f"sonde: no disk space for the trace store in '{capture}/SONDE'")
    again, printed = events_of(run_sonde, capture, **options)
    assert again == count and printed == []
