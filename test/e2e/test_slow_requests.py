"""Why requests were slow, in recorded sessions of real servers whose truth is known."""

import tarfile

import pytest

PARTS = (
    "event_loop tokenizing hand_over queue prefill other_prefill preemption decode engine "
    "computing communication rank_wait processor major_faults compiling garbage_collection "
    "slow_step delivery unexplained"
).split()


@pytest.fixture(name="stopped")
def unpack_stopped_front_end(shared_data, tmp_path):
    """A front-end whose event loop stood still for 1.5 s, while two requests were being served."""
    archive = shared_data / "field2" / "serving" / "front_end_stopped.tar.xz"
    if not archive.is_file():
        pytest.skip(f"needs data: {archive}")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (session,) = tmp_path.iterdir()
    return session


def test_a_front_end_that_stood_still(stopped, run_sonde, ask):
    done = run_sonde("analyse", stopped)
    assert done.returncode == 0, done.stderr
    assert "many tokens" not in done.stdout
    (finding,) = ask(stopped, "SELECT subject, message FROM finding WHERE rule = 'slow_request'")
    assert finding[0] == "event_loop"
    assert finding[1].startswith(
        "P99 is 1.61 s instead of 364.9 ms: 3 of 18 requests waited 1.49 s"
    )
    assert "between 1.02 s and 2.51 s" in finding[1]
    columns = "why, why_next, event_loop_ns"
    slow = ask(stopped, f"SELECT {columns} FROM request_time WHERE is_slow = 1")
    assert len(slow) == 3
    for why, following, waited_ns in slow:
        assert (why, following) == ("event_loop", "")
        assert 1_480_000_000 <= int(waited_ns) <= 1_500_000_000


def test_parts_of_a_request_add_up(stopped, run_sonde, ask):
    assert run_sonde("analyse", stopped).returncode == 0
    parts = " + ".join(f"{part}_ns" for part in PARTS)
    ((requests, apart, unexplained),) = ask(
        stopped,
        f"SELECT count(*), max(abs(client_ns - ({parts}))), max(unexplained_ns) FROM request_time",
    )
    assert (requests, apart, unexplained) == ("18", "0", "0")
    pieces = (
        "SELECT count(*) FROM (SELECT start_ns - lag(start_ns + dur_ns) OVER "
        "(PARTITION BY request_id ORDER BY start_ns) AS gap FROM request_path) WHERE gap <> 0"
    )
    assert ask(stopped, pieces) == [["0"]]


def test_objectives_of_a_user(stopped, run_sonde):
    done = run_sonde("analyse", stopped, "--slo", "ttft=10s,itl=10s,e2e=10s")
    assert done.returncode == 0, done.stderr
    assert "P99 is" not in done.stdout
    done = run_sonde("analyse", stopped, "--slo", "ttft=5")
    assert done.returncode != 0
    assert "an objective must be ttft, itl or e2e with a time" in done.stderr
