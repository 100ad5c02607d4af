"""Every kind of record that a collector writes is read, or named as not read: none is passed over.

The names are those of the vendor's catalogue of files, one record of zeros in each.
"""

import prof_usage
import pytest
from prof_runs import MATMUL, PIPES, SOC
from prof_writer import Run

HOST_READ = [
    "unaging.api_event.data",
    "unaging.compact.task_track",
    "unaging.compact.node_basic_info",
    "unaging.compact.memcpy_info",
    "unaging.compact.hccl_op_info",
    "unaging.compact.expand_stream_spec",
    "unaging.additional.hash_dic",
    "unaging.additional.type_info_dic",
    "unaging.additional.tensor_info",
    "unaging.additional.context_id_info",
    "unaging.additional.hccl_info",
    "unaging.additional.msproftx",
    "unaging.compact.node_attr_info",
    "unaging.compact.capture_stream_info",
    "unaging.additional.graph_id_map",
    "unaging.additional.fusion_op_info",
    "unaging.additional.task_memory_info",
    "unaging.additional.static_op_mem",
    "unaging.additional.mc2_comm_info",
    "unaging.additional.capture_op_info",
    "unaging.variable.capture_op_info",
    "unaging.additional.model_exeom",
    "host_cpu.data",
    "host_mem.data",
    "host_disk.data",
    "host_network.data",
    "host_sys_cpu.data",
    "host_sys_mem.data",
    "host_syscall.data",
    "host_pthreadcall.data",
    "4200-CpuUsage.data",
    "4200-Memory.data",
    "unaging.compact.dpu_track",
    "unaging.additional.ccu_task_info",
    "unaging.additional.ccu_group_info",
    "unaging.additional.ccu_wait_signal_info",
    "unaging.additional.dpu_hccl_info",
    "unaging.additional.Multi_Thread",
    "unaging.additional.logic_stream_info",
]
HOST_UNREAD = [
    "unaging.additional.memory_application",
    "Framework.task_desc_info.0",
    "AclModule.0",
    "runtime.0",
]
DEVICE_READ = [
    "stars_soc.data",
    "stars_soc_profile.data",
    "ffts_profile.data",
    "ts_track.data",
    "ts_track.aiv_data",
    "lpmFreqConv.data",
    "hbm.data",
    "ddr.data",
    "llc.data",
    "npu_mem.data",
    "npu_mem.app",
    "npu_module_mem.data",
    "qos.data",
    "pcie.data",
    "hccs.data",
    "nic.data",
    "roce.data",
    "lpmInfoConv.data",
    "aicpu.data",
    "DATA_PREPROCESS.AICPU",
    "DATA_PREPROCESS.DP",
    "l2_cache.data",
    "socpmu.data",
    "netdev_stats.data",
    "dvpp.data",
    "SystemCpuUsage.data",
    "Memory.data",
    "4200-CpuUsage.data",
]
DEVICE_UNREAD = [
    "stars_block.data",
    "hwts.data",
    "hwts.aiv_data",
    "aicore.data",
    "aiVectorCore.data",
    "ub.data",
    "ccu0.instr",
    "ccu1.stat",
    "instr.group_0_aic",
    "instr.biu_perf_group0_aiv0",
    "tscpu.data",
    "ai_ctrl_cpu.data",
    "nano_stars_profile.data",
]
NAMED_AT_ONCE = 12  # of more the message gives the number


def paths(host, device):
    """Below the PROF_*, as the message names them: without the device and the slice."""
    return [f"host/data/{name}" for name in host] + [f"device_0/data/{name}" for name in device]


def write_with(write_prof, names, size=64):
    """A run whose folder has these, too: one record of zeros each."""
    folder = write_prof(Run([MATMUL], sample=PIPES | SOC | prof_usage.SAMPLE, info=prof_usage.INFO))
    for name in names:
        is_device = name.startswith("device_0")
        file = folder / f"{name}{'.0' if is_device else ''}.slice_0"
        if file.exists():  # of the run itself
            continue
        file.write_bytes(bytes(size))
        file.with_name(file.name + ".done").write_bytes(b"")
    return folder


def not_read(ask, folder):
    """(names, how many more)"""
    rows = ask(folder, "SELECT advice FROM import_issue WHERE code = 'files_not_read'")
    if not rows:
        return [], 0
    ((text,),) = rows
    named, _, more = text.partition(": ")[2].partition(" and ")
    return named.split(", "), int(more.split()[0]) if more else 0


UNREAD = paths(HOST_UNREAD, DEVICE_UNREAD)
PARTS = [UNREAD[at : at + NAMED_AT_ONCE] for at in range(0, len(UNREAD), NAMED_AT_ONCE)]


@pytest.mark.parametrize("names", PARTS, ids=lambda names: names[0].rpartition("/")[2])
def test_what_is_not_read_is_named(write_prof, ask, names):
    """Each by its name, and the run is read beside it."""
    folder = write_with(write_prof, names)
    named, more = not_read(ask, folder)
    assert sorted(named) == sorted(names)
    assert more == 0
    assert ask(folder, "SELECT name FROM device_task") == [["MatMulV2_1"]]


def test_the_others_are_read(write_prof, ask):
    """None of them is called unread."""
    folder = write_with(write_prof, paths(HOST_READ, DEVICE_READ))
    assert not_read(ask, folder) == ([], 0)


def test_all_at_once_are_counted(write_prof, ask):
    named, more = not_read(ask, write_with(write_prof, UNREAD))
    assert len(named) == NAMED_AT_ONCE
    assert len(named) + more == len(UNREAD)
