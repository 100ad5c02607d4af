"""`sonde run --provide torch_npu`: programs written for an NPU run to their end without one."""

import sys

import pytest
from conftest import query

# As the guides of vllm-ascend and torch_npu mark modules, with every step that they take.
GUIDE = """
import torch
import torch_npu

original = torch.nn.Module.__call__

def marked(self, *args, **kwargs):
    range_id = torch_npu.npu.mstx.range_start(type(self).__name__, domain="Module")
    result = original(self, *args, **kwargs)
    torch_npu.npu.mstx.range_end(range_id, domain="Module")
    return result

torch.nn.Module.__call__ = marked
profiler = torch_npu.profiler
config = profiler._ExperimentalConfig(
    export_type=[profiler.ExportType.Text, profiler.ExportType.Db],
    profiler_level=profiler.ProfilerLevel.Level1,
    aic_metrics=profiler.AiCMetrics.PipeUtilization,
    mstx=True,
    data_simplification=False,
)

def main():
    device = "npu:0"
    torch.npu.set_device(device)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).to(device)
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1, skip_first=1),
        on_trace_ready=profiler.tensorboard_trace_handler("./result", analyse_flag=False),
        experimental_config=config,
    ) as prof:
        for _ in range(5):
            stream = torch_npu.npu.current_stream()
            torch_npu.npu.mstx.mark("begin", stream)
            number = torch_npu.npu.mstx.range_start("forward", stream)
            model(torch.ones(2, 4, device=device))
            torch_npu.npu.mstx.range_end(number)
            torch.npu.synchronize()
            prof.step()
    from torch_npu.profiler.profiler import analyse
    analyse(profiler_path="./result")
    print("to the end")

if __name__ == "__main__":
    main()
"""

DEVICE = """
import io
import torch
import torch_npu
from torch_npu.npu.mstx import mstx

model = torch.nn.Linear(3, 3).to("npu:0")
optimizer = torch.optim.AdamW(model.parameters())
with torch.autocast("npu", dtype=torch.bfloat16):
    loss = model(torch.ones(2, 3, device="npu")).sum()
loss.backward()
optimizer.step()
saved = io.BytesIO()
torch.save(model.state_dict(), saved)
saved.seek(0)
loaded = torch.load(saved, map_location="npu:0")
inputs = [
    torch.arange(3, device="npu"),
    torch.tensor([1.0]).npu(),
    torch.tril_indices(2, 2, device="npu"),
    torch.ones(1).to(device=torch.device("npu", 0), non_blocking=True),
    torch.rand(2, device="npu").to("npu", torch.float16),
    loaded["weight"],
    *model.npu().parameters(),
]
with torch.device("npu"):
    inputs.append(torch.nn.Linear(2, 2).weight)
print({str(tensor.device) for tensor in inputs}, mstx.mark is torch.npu.mstx.mark)
print(torch.npu.is_available(), torch.accelerator.is_available())
"""


@pytest.fixture(name="run")
def make_run(sonde_run, need_torch):
    return sonde_run


def test_a_program_of_the_guides_leaves_deliverables(run, tmp_path):
    done = run(GUIDE, "--provide", "torch_npu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("to the end\n")
    assert "ERROR" not in done.stdout
    assert done.stderr.count("the device npu for the CPU") == 1
    (span,) = (tmp_path / "result").iterdir()
    assert span.name.endswith("_ascend_pt")
    delivered = {path.name for path in (span / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert {"trace_view.json", "kernel_details.csv", "op_statistic.csv", "api_statistic.csv",
            "ascend_pytorch_profiler.db"} <= delivered  # fmt: skip
    marks = query(tmp_path / "result", "SELECT domain, message, count(*) FROM mark GROUP BY ALL")
    assert sorted(marks) == [
        ["Module", "Linear", "2"],
        ["Module", "ReLU", "2"],
        ["Module", "Sequential", "2"],
        ["default", "begin", "2"],
        ["default", "forward", "2"],
    ]
    assert query(tmp_path / "result", "SELECT count(*) FROM step") == [["2"]]


ON_REQUEST = """
import json, os, time
import torch, torch_npu
from torch_npu.profiler import dynamic_profile as dp

if __name__ == "__main__":
    os.mkdir("conf")
    dp.init("conf")
    path = "conf/profiler_config.json"
    with open(path) as file:
        config = json.load(file)
    config.update(prof_dir="asked", start_step=-1, active=2, analyse=True)
    with open(path, "w") as file:
        json.dump(config, file)
    os.utime(path, (0, os.stat(path).st_mtime + 5))
    for _ in range(20):  # the file is looked at every two seconds
        torch.ones(4).npu().add(1)
        dp.step()
        time.sleep(0.25)
"""


def test_a_recording_that_a_file_asks_for(run, tmp_path):
    """It takes over from that of the whole program, which is kept until there."""
    done = run(ON_REQUEST, "--provide", "torch_npu")
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stdout
    (span,) = (tmp_path / "asked").glob("*_ascend_pt")
    assert (span / "ASCEND_PROFILER_OUTPUT/trace_view.json").exists()
    assert query(tmp_path / "asked", "SELECT count(*) FROM step") == [["2"]]


def test_the_device_is_the_cpu(run):
    done = run(DEVICE, "--provide", "torch_npu", "--no-analyse")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'cpu'} True\nFalse False\n"


def test_an_older_torch_has_the_same_devices(run):
    """One that lets no Python answer for a device."""
    forget = "import torch\nvars(torch._C).pop('_acc', None)\n"
    last = DEVICE.replace(", torch.accelerator.is_available()", ", False")
    done = run(forget + last, "--provide", "torch_npu", "--no-analyse")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'cpu'} True\nFalse False\n"


def test_what_is_not_provided_is_named(run):
    done = run(
        "import torch_npu\nfrom torch_npu import npu_fusion_attention", "--provide", "torch_npu"
    )
    assert done.returncode == 1
    assert done.stderr.count("torch_npu.npu_fusion_attention needs an NPU") == 1


def test_without_the_switch_one_line_names_it(run):
    done = run("import torch\nimport torch_npu")
    assert done.returncode == 1
    assert done.stderr.count("sonde run --provide torch_npu") == 1
    done = run(
        "import torch\ntry:\n    import torch_npu\nexcept ImportError:\n    print('goes on')"
    )
    assert done.returncode == 0
    assert done.stdout == "goes on\n"
    assert "--provide" not in done.stderr


def test_both_packages(run):
    """Values are dumped, and the profiler's names are there."""
    done = run("import torch_npu, msprobe\nprint('ran')", "--provide", "msprobe,torch_npu")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


# As pip installs it: torch calls what its entry point names, and its libraries need CANN's.
WITHOUT_CANN = "raise ImportError('libhccl.so: cannot open shared object file')\n"


@pytest.fixture(name="installed")
def install_without_cann(tmp_path):
    """A folder with a torch_npu that needs CANN; prepared interpreters have torch already."""
    folder = tmp_path / "site"
    info = folder / "torch_npu-2.13.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 2.13.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    (folder / "torch_npu").mkdir()
    (folder / "torch_npu" / "__init__.py").write_text(WITHOUT_CANN)
    return {"PYTHONPATH": str(folder), "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}


def test_torch_imports_where_torch_npu_lacks_cann(run, installed):
    program = "import torch\nimport torch_npu\nprint(torch.ones(2).npu().sum(), torch_npu.__file__)"
    done = run(
        program, "--provide", "torch_npu", "--no-analyse", python=sys.executable, **installed
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tensor(2.") and "_provide_npu" in done.stdout


def test_without_the_switch_the_failed_import_is_explained(run, installed):
    done = run("import torch", python=sys.executable, **installed)
    assert done.returncode == 1
    assert done.stderr.count("sonde run --provide torch_npu") == 1, done.stderr
    done = run(
        "import torch\nimport torch_npu", **{**installed, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    )
    assert done.returncode == 1
    assert done.stderr.count("sonde run --provide torch_npu") == 1, done.stderr
    done = run("raise ImportError('another')", **installed)
    assert "--provide" not in done.stderr
