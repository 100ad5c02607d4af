"""PROF_* folders with samples of the operating systems: of the host, and of the device's own."""

import prof_usage as usage
import prof_writer as prof
import pytest
from prof_runs import MATMUL, issues
from prof_writer import Run


def curve(ask, folder, name):
    """(milliseconds since the start, value) of a counter."""
    found = ask(folder, "SELECT ts, value FROM counter JOIN track USING (track_id) "
                f"WHERE name = '{name}' ORDER BY ts")  # fmt: skip
    return [((int(ts) - prof.utc_ns(0)) / usage.MS, float(value)) for ts, value in found]


@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_use_of_the_host(write_prof, ask, slice_bytes):
    """Each value holds from the sample before on; of the network as a share of the card's speed."""
    run = Run([MATMUL], extra=usage.host(), info=usage.INFO, sample=usage.SAMPLE,
              slice_bytes=slice_bytes)  # fmt: skip
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    # A second is 100 ticks. Of the second interval all 50 were on processor 2 at its end.
    assert curve(ask, folder, "CPU 2 Usage %") == [(0, 40), (1000, 50)]
    assert curve(ask, folder, "CPU 3 Usage %") == [(0, 10)]
    assert curve(ask, folder, "CPU Avg Usage %") == [(0, 12.5), (1000, 12.5)]
    assert curve(ask, folder, "CPU 1 Usage %") == []  # a thread that had just begun
    shares = [100 * 4 * pages / (1 << 20) for pages in (2000, 2621)]
    assert curve(ask, folder, "Memory Usage %") == [(0, shares[0]), (10, shares[1])]
    assert curve(ask, folder, "Disk Usage %") == [(5, 3.25), (25, 0)]
    assert curve(ask, folder, "Disk Usage read B/s") == [(5, 12_800), (25, 0)]
    assert curve(ask, folder, "Disk Usage write B/s") == [(5, 1 << 19), (25, 0)]
    assert curve(ask, folder, "Network Usage speed B/s") == [(0, 1_250_000), (500, 0)]
    assert curve(ask, folder, "Network Usage %") == [(0, 1), (500, 0)]


def test_usage_without_a_known_total(write_prof, ask):
    """Without the machine's sizes a share is none: the files are named as not read."""
    info = {"memoryTotal": 0, "sysClockFreq": 0, "netCard": []}
    folder = write_prof(Run([MATMUL], extra=usage.host(), info=info))
    ((text,),) = ask(folder, "SELECT advice FROM import_issue WHERE code = 'files_not_read'")
    for name in ("host_cpu", "host_mem", "host_disk", "host_network"):
        assert f"host/data/{name}.data" in text
    assert curve(ask, folder, "Memory Usage %") == []


@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_calls_of_the_operating_system(write_prof, ask, slice_bytes):
    """The first of each file begins with the recording. What is no whole call is counted."""
    run = Run([MATMUL], extra=usage.os_calls(), slice_bytes=slice_bytes)
    folder = write_prof(run)
    assert issues(ask, folder) == {"raw_bad_record": "2"}
    found = ask(folder, "SELECT t.name, h.tid, s.name, s.ts, s.dur FROM slice s JOIN track t "
                "USING (track_id) JOIN thread h USING (thread_id) WHERE t.kind = 'os_runtime' "
                "ORDER BY s.ts, s.name")  # fmt: skip
    calls = [(4200, "", "futex", 0, 11_000), (4242, "", "poll", 750_000, 1_500_000),
             (4242, " pthread", "pthread_join", 1_000_000, 250_000),
             (4242, " pthread", "pthread_cond_wait", 2_000_000, 100_000_000),
             (4200, "", "ioctl", 2_250_000, 250_000)]  # fmt: skip
    assert found == [[f"Thread {tid}{kind}", str(tid), name, str(prof.utc_ns(at)), str(dur)]
                     for tid, kind, name, at, dur in calls]  # fmt: skip


def of_device(ms):
    """The device's own clock, which begins at 77."""
    return 77 + ms * usage.MS


@pytest.mark.parametrize(
    ("part", "suffix", "moment", "device"),
    [("host", "", usage.at, ""), ("device_0", ".0", of_device, "0")],
)
def test_use_of_a_system(write_prof, ask, part, suffix, moment, device):
    """Shares of time begin with the second sample; a name may have brackets in it."""
    folder = write_prof(Run([MATMUL], extra=usage.system(moment, part, suffix)))
    assert issues(ask, folder) == {}
    assert curve(ask, folder, "System CPU user %") == [(10, 25)]
    assert curve(ask, folder, "System CPU system %") == [(10, 12.5)]
    assert curve(ask, folder, "System CPU idle %") == [(10, 50)]
    assert curve(ask, folder, "System CPU 1 iowait %") == [(10, 50)]
    assert curve(ask, folder, "System Memory MemFree B") == [(0, 600 << 10), (10, 400 << 10)]
    assert curve(ask, folder, "System Memory HugePages_Total") == [(0, 3), (10, 3)]
    assert curve(ask, folder, "Process 4300 CPU %") == [(10, 20)]
    assert curve(ask, folder, "Process 4300 Memory resident pages") == [(10, 300)]
    assert ask(folder, "SELECT DISTINCT device_id FROM track WHERE name LIKE 'System CPU%'") == [
        [device]
    ]


@pytest.mark.parametrize("name", ["host_cpu.data", "host_mem.data", "host_disk.data",
                                  "host_network.data"])  # fmt: skip
def test_garbage_in_the_middle(write_prof, ask, name):
    """Lines that are none are counted; those around them are read."""
    files = usage.host()
    whole = files["host", name]
    files["host", name] = whole[: len(whole) // 2] + b"\n\xff\xff \xff ) 1\n" + whole[:40]
    folder = write_prof(Run([MATMUL], extra=files, info=usage.INFO, sample=usage.SAMPLE))
    assert set(issues(ask, folder)) == {"raw_bad_record"}
    assert ask(folder, "SELECT count(*) > 0 FROM counter") == [["true"]]
