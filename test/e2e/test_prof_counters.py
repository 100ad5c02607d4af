"""PROF_* folders that nobody exported: hardware counters and what devices sample."""

import pytest
from prof_runs import (
    MATMUL,
    PIPES,
    PIPES_HWTS,
    PIPES_V6,
    SOC,
    counted,
    frequency,
    issues,
    kernel,
    sampled,
    soc,
)
from prof_writer import NODE, Call, Counters, Run, Task, hwts_record, utc_ns


def metrics(ask, folder, name):
    found = ask(folder, "SELECT metric, value FROM device_task_pmu JOIN device_task USING (task_id)"
                f" WHERE name = '{name}'")  # fmt: skip
    return {metric: float(value) for metric, value in found}


def test_counters_of_pipes(write_prof, ask):
    """1 650 cycles are a microsecond; 48 blocks on 24 cores run in two rounds."""
    cube = kernel(
        "Cube",
        3,
        (48, 0),
        40_000,
        [Counters(45_000, 79_200, [792, 792, 3960, 7920, 19_800, 396, 1000, 25])],
    )
    folder = write_prof(Run([cube], sample=PIPES))
    assert issues(ask, folder) == {}
    found = metrics(ask, folder, "Cube")
    expected = {
        "aicore_time(us)": 2.0, "aic_total_cycles": 79_200, "aic_mac_ratio": 0.02,
        "aic_mac_time(us)": 0.04, "aic_scalar_ratio": 0.05, "aic_mte1_ratio": 0.1,
        "aic_mte2_ratio": 0.25, "aic_mte2_time(us)": 0.5, "aic_fixpipe_ratio": 0.005,
        "aic_icache_miss_rate": 0.025, "aiv_time(us)": 0, "aiv_vec_ratio": 0,
        "cube_utilization(%)": 79_200 * 100 / (1650 * 24 * 10),
    }  # fmt: skip
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert "aic_vec_ratio" not in found
    assert "aiv_mac_ratio" not in found


def test_counters_of_mixed_cores(write_prof, ask):
    """The task's own cores have one record, the others one a block."""
    blocks = [Counters(44_000 + k, 1650, [165, 0, 330], 0, 6, True) for k in range(4)]
    mixed = Call(
        30_000, 36_000, NODE, "launch", "Mixed", basic=("Mixed", 4, "Mixed", 2, 2, 0), contexts=[0],
        tasks=[Task(32_000, 7, 6, "FFTS_PLUS", (40_000, 50_000),
                    sub_tasks={0: (6, 40_000, 50_000)},
                    pmu=[Counters(46_000, 3300, [330], 0, 6), *blocks])])  # fmt: skip
    folder = write_prof(Run([mixed], sample=PIPES))
    assert issues(ask, folder) == {}
    found = metrics(ask, folder, "Mixed")
    assert found["aic_total_cycles"] == 3300
    assert found["aic_mac_ratio"] == pytest.approx(0.1)
    assert found["aiv_total_cycles"] == 4 * 1650
    assert found["aiv_vec_ratio"] == pytest.approx(0.1)
    assert found["aiv_scalar_ratio"] == pytest.approx(0.2)
    assert found["aiv_time(us)"] == pytest.approx(4 * 1650 / 1650 / 4)


def test_counters_of_newer_chips(write_prof, ask):
    """Times are measured there, each kind of cores has a record; what ran over is left out."""
    over = kernel("Over", 29, (1, 0), 320_000, [Counters(325_000, 9, [1], is_overflown=True)])
    run = Run([*counted(15), over], chip=15, sample=PIPES_V6)
    folder = write_prof(run)
    assert issues(ask, folder) == {"raw_counter_overflow": "1"}
    cube = {"aicore_time(us)": 3.0, "aic_total_cycles": 79_200, "aic_mac_time(us)": 0.03,
            "aic_mte3_ratio": 0.005, "aic_fixpipe_time(us)": 3 * 77 / 79_200, "aiv_time(us)": 0,
            "cube_utilization(%)": 20.0}  # fmt: skip
    mixed = {"aicore_time(us)": 5.0, "aic_total_cycles": 3300, "aic_mac_time(us)": 5 * 100 / 3300,
             "aiv_time(us)": 5.0, "aiv_total_cycles": 1650, "aiv_vec_ratio": 0.1,
             "aiv_scalar_time(us)": 1.0}  # fmt: skip
    vector = {"aicore_time(us)": 0, "aiv_time(us)": 5.0, "aiv_vec_time(us)": 0.05,
              "aiv_icache_miss_rate": 0.5}  # fmt: skip
    for name, expected in (("Cube", cube), ("Mixed", mixed), ("Vec", vector)):
        found = metrics(ask, folder, name)
        assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert metrics(ask, folder, "Over") == {}


@pytest.mark.parametrize("chip", [1, 4])
def test_counters_before_stars(write_prof, ask, chip):
    """One kind of cores a task, so that the columns do not name it."""
    folder = write_prof(Run(counted(chip), chip=chip, sample=PIPES_HWTS))
    assert issues(ask, folder) == {}
    cube = {"aicore_time(us)": 2.0, "total_cycles": 79_200, "vec_ratio": 16_500 / 79_200,
            "mac_ratio": 0.01, "mac_time(us)": 0.02, "scalar_ratio": 0.05, "mte1_ratio": 0.1,
            "mte2_ratio": 0.25, "mte3_ratio": 0.005, "icache_miss_rate": 0.025,
            "memory_bound": 0.25 * 79_200 / 16_500, "cube_utilization(%)": 20.0}  # fmt: skip
    small = {"aicore_time(us)": 1.0, "total_cycles": 1650, "vec_ratio": 0.2, "mac_ratio": 0.1,
             "memory_bound": 0}  # fmt: skip
    vector = {"aicore_time(us)": 0.5, "total_cycles": 33_000, "vec_ratio": 0.01,
              "mte3_time(us)": 0.02}  # fmt: skip
    expected = {"Cube": cube, "Small": small} | ({"Vec": vector} if chip == 4 else {})
    for name, values in expected.items():
        found = metrics(ask, folder, name)
        assert {key: found[key] for key in values} == pytest.approx(values, rel=1e-12)
        assert not any(key.startswith(("aic_", "aiv_")) for key in found)


def test_counters_without_a_time(write_prof, ask):
    """Of a task that was launched once and ran three times, each run has its own; what is left
    over belongs to none."""
    call = kernel("Cube", 23, (1, 0), 240_000, [Counters(0, 1000 + k, []) for k in range(4)])
    run = Run([call], chip=1, sample=PIPES_HWTS)
    again = Task(0, 7, 23, "")
    run.extra = {
        ("device_0", "hwts.data.0"): b"".join(
            hwts_record(again, end, at + end * 1000) for at in (300_000, 400_000) for end in (0, 1)
        )
    }
    folder = write_prof(run)
    assert issues(ask, folder) == {"raw_counter_without_task": "1"}
    found = ask(folder, "SELECT ts, value FROM device_task_pmu JOIN device_task USING (task_id) "
                "WHERE metric = 'total_cycles' ORDER BY ts")  # fmt: skip
    assert [(int(ts) - utc_ns(0), float(value)) for ts, value in found] == [
        (240_000, 1000), (300_000, 1001), (400_000, 1002)]  # fmt: skip


def test_bandwidths_and_frequency(write_prof, ask):
    """Times follow the frequency in force, bandwidths the configured one."""
    sample = PIPES | {
        "ai_core_metrics": "Memory",
        "ai_core_profiling_events": "0x15,0x16,0x31,0x32,0xf,0x10,0x12,0x13",
    }
    lpm = frequency((-5000, 1000), (60_000, 800))
    early = kernel(
        "Early", 3, (1, 0), 40_000, [Counters(45_000, 1650, [0, 0, 10, 20, 30, 40, 50, 60])]
    )
    late = kernel("Late", 4, (1, 0), 70_000, [Counters(75_000, 1650, [])])
    folder = write_prof(Run([early, late], sample=sample, extra=lpm))
    found = metrics(ask, folder, "Early")
    assert found["aicore_time(us)"] == pytest.approx(1.65)
    assert found["aic_l1_read_bw(GB/s)"] == pytest.approx(10 * 256 * 16 / 1e-6 / 2**33)
    assert found["aic_l1_write_bw(GB/s)"] == pytest.approx(20 * 128 * 8 / 1e-6 / 2**33)
    assert found["aic_main_mem_write_bw(GB/s)"] == pytest.approx(60 * 64 / 1e-6 / 2**33)
    assert metrics(ask, folder, "Late")["aicore_time(us)"] == pytest.approx(1650 / 800)
    curve = ask(folder, "SELECT ts, value::INTEGER FROM counter JOIN track USING (track_id) "
                "WHERE name = 'AI Core Freq MHz' ORDER BY ts")  # fmt: skip
    assert curve == [[str(utc_ns(0)), "1000"], [str(utc_ns(60_000)), "800"]]


def test_counters_without_a_task_are_counted(write_prof, ask):
    unmatched = kernel("K", 3, (1, 0), 40_000, [Counters(99_000, 1650, [1])])
    folder = write_prof(Run([unmatched], sample=PIPES))
    assert issues(ask, folder) == {"raw_counter_without_task": "1"}
    assert metrics(ask, folder, "K") == {}


def curve(ask, folder, name):
    """(nanoseconds since the start, value) of a counter."""
    found = ask(folder, "SELECT ts, value FROM counter JOIN track USING (track_id) "
                f"WHERE name = '{name}' ORDER BY ts")  # fmt: skip
    return [(int(ts) - utc_ns(0), float(value)) for ts, value in found]


def test_sampled_memory(write_prof, ask):
    """Microseconds since the start, and ticks of the host."""
    folder = write_prof(Run([MATMUL], extra=sampled()))
    assert issues(ask, folder) == {}
    rate = 2_000_000 * 32 * 1000
    assert curve(ask, folder, "HBM 2 read B/s") == [(2_000_000, rate), (4_000_000, rate)]
    assert len(curve(ask, folder, "HBM 3 write B/s")) == 2
    assert curve(ask, folder, "NPU MEM app DDR B") == [(500_000, 64)]
    assert curve(ask, folder, "NPU MEM device HBM B") == [(500_000, 256)]
    assert curve(ask, folder, "NPU Module HCCL B") == [(50_000, 1 << 20)]


def test_sampled_links(write_prof, ask):
    """Nanoseconds of the device's own clock, which begins at 77."""
    folder = write_prof(Run([MATMUL], extra=sampled(), slice_bytes=1 << 20))
    assert curve(ask, folder, "PCIe Tx post B/s") == [(3_000_000, 3e6)]
    assert curve(ask, folder, "PCIe Tx nonpost latency min ns") == [(3_000_000, 10)]
    assert curve(ask, folder, "PCIe Rx cpl max B/s") == [(3_000_000, 20e6)]
    assert curve(ask, folder, "HCCS Tx B/s") == [(2_000_000, 1048576e3)]
    assert curve(ask, folder, "HCCS Rx B/s") == [(2_000_000, 2097152e3)]
    assert curve(ask, folder, "RoCE Port 4 rxByteRate") == [(1_000_000, 2)]
    assert curve(ask, folder, "RoCE Port 4 txDropped") == [(1_000_000, 12)]


@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_what_a_chip_counts_beside_its_cores(write_prof, ask, slice_bytes):
    """Ticks of the device, and microseconds since the start; rates of the second sample."""
    folder = write_prof(Run([MATMUL], sample=SOC, extra=soc(), slice_bytes=slice_bytes))
    assert issues(ask, folder) == {"raw_soc_record": "1"}
    for name, value in (("read_bandwidth", 11), ("write_bandwidth", 12), ("read_ost", 13),
                        ("write_ost", 14)):  # fmt: skip
        assert curve(ask, folder, f"Acc PMU 5 {name}") == [(10_000, value)]
    assert curve(ask, folder, "Stars Soc Info L2 Buffer Bw Level") == [(20_000, 3)]
    assert curve(ask, folder, "Stars Soc Info Mata Bw Level") == [(20_000, 9)]
    assert curve(ask, folder, "SIO die 1 req_rx") == [(1_100_000, 100e3)]
    assert curve(ask, folder, "SIO die 1 dat_tx") == [(1_100_000, 107e3)]
    assert curve(ask, folder, "QoS OTHERS B/s") == [(40_000, 7 * 2**20)]
    assert curve(ask, folder, "QoS SDMA B/s") == [(40_000, 9 * 2**20)]
    assert curve(ask, folder, "LLC 1 read Hit Rate %") == [(1_000_000, 175), (2_000_000, 175)]
    assert curve(ask, folder, "LLC 1 read Throughput B/s") == [(2_000_000, 32 * 4096 * 1000)]
