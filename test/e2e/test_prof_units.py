"""PROF_* folders of newer chips: the communication unit, blocks of cores, parts of fused tasks, and
what a DPU ran."""

import prof_units as units
import prof_writer as prof
import pytest
from prof_runs import MATMUL, issues
from prof_writer import NODE, Call, Run, Task

KERNEL = Call(12_000, 20_000, NODE, "launch", "MatMulV2_1", basic=("MatMulV2_1", 0, "M", 24, 0, 1),
              tasks=[Task(15_000, 7, units.TASK, "KERNEL_AICORE", (40_000, 65_000))])  # fmt: skip


def slices(ask, folder, category):
    """[(layer, name, begin and duration in nanoseconds since the start, arguments)]"""
    rows = ask(folder, "SELECT t.name, s.name, s.ts, s.dur, "
               "string_agg(key || '=' || value, '; ' ORDER BY key) FROM slice s "
               "JOIN track t USING (track_id) LEFT JOIN args USING (args_id) "
               f"WHERE category = '{category}' GROUP BY ALL ORDER BY s.ts")  # fmt: skip
    return [(track, name, int(ts) - prof.utc_ns(0), int(dur), args)
            for track, name, ts, dur, args in rows]  # fmt: skip


@pytest.mark.parametrize("chip", [15, 16])
@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_the_communication_unit(write_prof, ask, chip, slice_bytes):
    """A wait lasts until the last rank; a channel moved a package of 4 KB in its delay,
    and most in the least."""
    run = Run([KERNEL], chip=chip, extra=units.communication_unit(), texts=units.TEXTS,
              slice_bytes=slice_bytes)  # fmt: skip
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    of_task = f"Physic Stream Id=7; Task Id={units.TASK}"
    assert slices(ask, folder, "ccu") == [
        ("CCU", "LoopGroup", 41_000, 4000,
         f"Data Size=65536; Die Id=1; Instruction ID=21; Item=ccu_allreduce; {of_task}"),
        ("CCU", "Wait", 46_000, 4000,
         "Die Id=1; Item=ccu_allreduce; Mask=12; Notify Instruction ID=34; Notify Rank ID=4; "
         + of_task),
    ]  # fmt: skip
    rows = ask(folder, "SELECT name, value, ts FROM counter JOIN track USING (track_id) "
               "WHERE name LIKE 'ccu%' ORDER BY name")  # fmt: skip
    assert {ts for _, _, ts in rows} == {str(prof.utc_ns(50_000))}
    found = {name.removeprefix("ccu1 channel "): float(value) for name, value, _ in rows}
    rates = {0: (1.024e9, 4.096e9, 0.512e9), 11: (102.4e9,) * 3, 120: (204.8e9,) * 3, 127: (0,) * 3}
    assert found == pytest.approx(
        {f"{channel} {part} B/s": rate for channel, of in rates.items()
         for part, rate in zip(("avg", "max", "min"), of)})  # fmt: skip


def test_blocks_of_cores(write_prof, ask):
    """Each core has a layer; a block without its end is counted."""
    folder = write_prof(Run([KERNEL], chip=15, extra=units.blocks()))
    assert issues(ask, folder) == {"raw_task_unpaired": "1"}
    task = f"Task Id={units.TASK}"
    assert slices(ask, folder, "block") == [
        ("Blocks of AIC 5", "MatMulV2_1", 41_000, 2000, f"Block Id=0; {task}"),
        ("Blocks of AIV 5", "MatMulV2_1", 42_000, 5000, f"Block Id=1; {task}"),
        ("Blocks of AIC 5", "MatMulV2_1", 43_500, 500, f"Block Id=24; {task}"),
    ]
    assert ask(folder, "SELECT count(*) FROM device_task") == [["1"]]


def test_parts_of_fused_tasks(write_prof, ask):
    """In the scheduler's own log; those at one time are on layers of their own."""
    run = Run([KERNEL], chip=15, extra={})
    own = b"".join(prof.stars_record(run, KERNEL.tasks[0], end, at)
                   for end, at in ((0, 100_000), (1, 110_000)))  # fmt: skip
    run.extra["device_0", "stars_soc.data.0"] = (
        own[:32] + units.fused(2, 101_000, 105_000) + units.fused(4, 102_000, 109_000) + own[32:]
    )
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    task = f"Task Id={units.TASK}"
    assert slices(ask, folder, "fusion_task") == [
        ("Fusion Task", "Fusion AICORE", 101_000, 4000, task),
        ("Fusion Task 2", "Fusion CCU die1", 102_000, 7000, task),
    ]
    assert ask(folder, "SELECT count(*) FROM device_task") == [["2"]]


def test_what_a_dpu_ran(write_prof, ask):
    """Its tasks are none of the device; a launch has the name of one."""
    folder = write_prof(Run([KERNEL], chip=15, extra=units.dpu(), texts=units.TEXTS))
    assert issues(ask, folder) == {}
    assert slices(ask, folder, "dpu_task") == [
        ("DPU 2 Stream 5", "DpuReduce", 20_000, 1500,
         "Physic Stream Id=5; Task Id=70; Thread Id=4242"),
        ("DPU 2 Stream 5", "Send", 22_000, 3000,
         "Data Type=FP32; Dst Rank=3; Group Name=group_name_586; Link Type=HCCS; "
         "Physic Stream Id=5; Size(Byte)=4096; Src Rank=0; Task Id=71; Thread Id=4242; "
         "Transport Type=SDMA"),
    ]  # fmt: skip
    assert ask(folder, "SELECT count(*) FROM device_task") == [["1"]]


@pytest.mark.parametrize("chip", [15, 16])
def test_instructions_of_cores(write_prof, ask, chip):
    """Cycles are those of the core (1650 MHz), moments those of the device. Blocks follow each
    other; what is not whole is counted."""
    vector = (units.state(5, "VEC") + units.stamp(60_000, 1)[:8] + units.state(5, "VEC")
              + units.stamp(61_000, 1) + units.state(1650, "VEC") + b"\0\0\0\x90")  # fmt: skip
    extra = {("device_0", "instr.biu_perf_group0_aic.0"): units.instructions(),
             ("device_0", "instr.biu_perf_group12_aiv1.0"): vector}  # fmt: skip
    folder = write_prof(Run([KERNEL], chip=chip, extra=extra))
    # Before all stamps, for a stamp that is cut, behind it, and of an unknown kind; one goes on.
    assert issues(ask, folder) == {"raw_bad_record": "4", "raw_task_unpaired": "1"}
    assert slices(ask, folder, "instruction") == [
        ("Group0-aic MTE2", "MTE2", 41_000, 2000, "Block Id=3"),
        ("Group0-aic CUBE", "CUBE", 42_000, 3000, "Block Id=3"),
        ("Group0-aic CUBE", "CUBE", 42_200, 0, "Block Id=3; Checkpoint Info=77"),
        ("Group0-aic SU", "SU", 50_100, 100, "Block Id=259"),
    ]


def test_other_chips_have_none_of_them(write_prof, ask):
    """They are named as not read."""
    extra = units.blocks() | {
        ("device_0", "ccu0.instr.0"): units.mission(),
        ("device_0", "instr.biu_perf_group0_aic.0"): units.stamp(0, 0),
    }
    folder = write_prof(Run([MATMUL], extra=extra))
    ((text,),) = ask(folder, "SELECT advice FROM import_issue WHERE code = 'files_not_read'")
    assert "device_0/data/stars_block.data" in text
    assert "device_0/data/ccu0.instr" in text
    assert "device_0/data/instr.biu_perf_group0_aic" in text
