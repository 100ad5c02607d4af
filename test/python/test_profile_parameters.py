"""Parameters of the profiler API: defaults, warnings, the info file's object; no torch needed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sonde import torch as st

ROOT = Path(__file__).resolve().parents[2]
PLAIN = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"


def texts(capsys):
    """Console texts without their stamps."""
    return [line.split("profiler.py: ", 1)[1] for line in capsys.readouterr().out.splitlines()]


def quiet_config(**switches):
    return st._ExperimentalConfig(aic_metrics=st.AiCMetrics.AiCoreNone, **switches)


def test_message_form(capsys):
    st._ExperimentalConfig()
    line = capsys.readouterr().out.rstrip("\n")
    stamp = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]"
    assert re.fullmatch(rf"{stamp} \[WARNING\] \[{os.getpid()}\] profiler\.py: .+", line)


@pytest.mark.parametrize(
    ("variable", "value", "shown"),
    [("TORCH_NPU_WARNING_DISABLE", "1", 0), ("TORCH_NPU_DISABLED_WARNING", "1", 0),
     ("RANK", "1", 0), ("RANK", "0", 1)],
)  # fmt: skip
def test_warnings_can_be_off(variable, value, shown, monkeypatch, capsys):
    monkeypatch.setenv(variable, value)
    st._ExperimentalConfig()
    assert len(texts(capsys)) == shown


def test_defaults_in_the_info_file(capsys):
    assert st._ExperimentalConfig().config() == {
        "_profiler_level": "Level0", "_aic_metrics": "ACL_AICORE_NONE", "_l2_cache": False,
        "_msprof_tx": False, "_mstx": False, "_data_simplification": True,
        "record_op_args": False, "_export_type": ["text"], "_host_sys": [], "_op_attr": False,
        "_gc_detect_threshold": None, "_mstx_domain_include": [], "_mstx_domain_exclude": [],
        "_sys_io": False, "_sys_interconnection": False,
    }  # fmt: skip
    assert texts(capsys) == [PLAIN]


BOOL = "Invalid parameter {}, which must be of bool type, reset it to False."


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({"profiler_level": "Level1"},
         ["Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."]),
        ({"l2_cache": 1}, [BOOL.format("l2_cache")]),
        ({"mstx": "yes"}, [BOOL.format("mstx")]),
        ({"sys_io": 0}, [BOOL.format("sys_io")]),
        ({"data_simplification": 1},
         ["Invalid parameter data_simplification, which must be of bool type, "
          "reset it to default."]),
        ({"op_attr": True}, ["op_attr switch is invalid with export type set as text."]),
        ({"gc_detect_threshold": "1"},
         ["Parameter gc_detect_threshold is not int or float type, reset it to default."]),
        ({"gc_detect_threshold": -1},
         ["Parameter gc_detect_threshold can not be negative, reset it to default."]),
        ({"gc_detect_threshold": 0},
         ["Parameter gc_detect_threshold is set to 0, it will collect all gc events."]),
        ({"export_type": "db"}, ["Invalid parameter export_type: db, reset it to text."]),
        ({"export_type": []}, ["Invalid parameter export_type, reset it to text."]),
        ({"host_sys": "cpu"},
         ["Invalid parameter host_sys, which must be of list type, reset it to empty."]),
        ({"host_sys": ["cpu"]}, ["Invalid parameter host_sys, reset it to empty."]),
        ({"mstx_domain_include": ["a"]},
         ["mstx_domain_include and mstx_domain_exclude are valid when msprof_tx or mstx is True."]),
        ({"mstx": True, "mstx_domain_include": "a"},
         ["Invalid parameter mstx_domain_include, which must be of list type, "
          "reset it to default."]),
        ({"mstx": True, "mstx_domain_exclude": [1]},
         ["Invalid parameter mstx_domain_exclude, which contents must be of str type, "
          "reset it to default."]),
        ({"mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]},
         ["Parameter mstx_domain_include and mstx_domain_exclude can not be both set, "
          "only mstx_domain_include will work."]),
        ({"profiler_level": st.ProfilerLevel.Level_none},
         ["Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none."]),
    ],
)  # fmt: skip
def test_experimental_warnings(switches, expected, capsys):
    quiet_config(**switches)
    assert texts(capsys) == expected


def test_metrics_follow_the_level(capsys):
    level1 = st._ExperimentalConfig(profiler_level=st.ProfilerLevel.Level1)
    assert level1.config()["_aic_metrics"] == "ACL_AICORE_PIPE_UTILIZATION"
    st._ExperimentalConfig(profiler_level=st.ProfilerLevel.Level1, aic_metrics="Memory")
    assert texts(capsys) == ["Invalid parameter aic_metrics, reset it to default."]


def test_both_export_types_once():
    kinds = [st.ExportType.Text, st.ExportType.Db, st.ExportType.Text]
    assert quiet_config(export_type=kinds).config()["_export_type"] == ["text", "db"]


def test_msprof_tx_is_deprecated():
    with pytest.warns(UserWarning, match="msprof_tx will be deprecated"):
        assert quiet_config(msprof_tx=True).markers


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"activities": ["CPU"]},
         ["Invalid activities, only CPU and NPU are supported, reset it to default."]),
        ({"activities": [st.ProfilerActivity.CPU]},
         ["Experimental config will not be used while ProfilerActivity.NPU is not set."]),
        ({"schedule": 3}, ["schedule is not Callable, set by default."]),
        ({"on_trace_ready": "x"}, ["on_trace_ready is not Callable, set by default."]),
        ({"record_shapes": 1}, ["Parameter record_shapes is of boolean type, reset it to False."]),
        ({"with_modules": None},
         ["Parameter with_modules is of boolean type, reset it to False."]),
        ({"use_cuda": True}, ["This is npu environment, use_cuda is invalid"]),
        ({"custom_trace_id_callback": "x"},
         ["Parameter custom_trace_id_callback is not callable, reset it to default."]),
    ],
)  # fmt: skip
def test_profile_warnings(parameters, expected, capsys):
    prof = st.profile(experimental_config=quiet_config(), **parameters)
    assert texts(capsys) == expected
    assert prof.profiler is None


def test_wrong_experimental_config(capsys):
    st.profile(experimental_config={"profiler_level": 1})
    assert (
        texts(capsys)
        == [
            PLAIN,
            "Parameter experimental_config is an instance of _ExperimentalConfig, "
            "reset it to default.",
        ]
        or texts(capsys) == []
    )


def test_common_config_of_the_info_file():
    plan = st.schedule(wait=0, warmup=1, active=2, repeat=1, skip_first=3)
    prof = st.profile(schedule=plan, record_shapes=True, experimental_config=quiet_config())
    assert prof._config()["common_config"] == {
        "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
        "schedule": {"wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 3,
                     "skip_first_wait": 0},
        "record_shapes": True, "profile_memory": False, "with_stack": False,
        "with_flops": False, "with_modules": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "key", "value", "expected"),
    [
        ("add_metadata", "k", 1,
         ["The key and value of metadata must be string. Skip this metadata."]),
        ("add_metadata", "", "v", ["Invalid input key or value. Skip this metadata."]),
        ("add_metadata", "k" * 4097, "v", ["Invalid input key or value. Skip this metadata."]),
        ("add_metadata_json", "k", "{",
         ["The metadata value must be json format string. Skip this metadata"]),
        ("add_metadata", "k", "v", []),
        ("add_metadata_json", "k", '{"a": [1]}', []),
    ],
)  # fmt: skip
def test_metadata_rules(method, key, value, expected, capsys):
    prof = st.profile(experimental_config=quiet_config())
    getattr(prof, method)(key, value)
    assert texts(capsys) == expected


def test_metadata_size_and_override(capsys):
    prof = st.profile(experimental_config=quiet_config())
    for index in range(13):
        prof.add_metadata(f"k{index}", "x" * 4000)
    prof.add_metadata("k0", "y")
    assert texts(capsys) == [
        "Too many metadata added. Skip this metadata",
        "k0 is already saved as metadata, override it.",
    ]


def test_trace_id(capsys):
    prof = st.profile(experimental_config=quiet_config())
    assert re.fullmatch(r"[0-9A-F]{32}", prof._new_trace_id())
    for callback, text in (
        (lambda: 3, "should return str(max length: 1024), reset it to default."),
        (lambda: "x" * 1025, "should return str(max length: 1024), reset it to default."),
        (lambda: 1 // 0, "raised an exception: integer division or modulo by zero, "
                         "reset it to default."),
    ):  # fmt: skip
        prof.set_custom_trace_id_callback(callback)
        assert re.fullmatch(r"[0-9A-F]{32}", prof._new_trace_id())
        assert texts(capsys) == [f"Parameter custom_trace_id_callback {text}"]
    prof.set_custom_trace_id_callback(lambda: "run-7")
    assert prof._new_trace_id() == "run-7"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"dir_name": 3}, ["Invalid parameter dir_name, reset it to default."]),
        ({"worker_name": "x" * 226}, ["Invalid parameter worker_name, reset it to default."]),
        ({"analyse_flag": 1}, ["analyse_flag is not bool, set by default."]),
        ({"async_mode": "no"}, ["async_mode is not bool, set by default."]),
    ],
)
def test_handler_warnings(parameters, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert callable(st.tensorboard_trace_handler(**parameters))
    assert texts(capsys) == expected


def test_default_place(tmp_path, monkeypatch):
    from sonde.session import _place

    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    st.tensorboard_trace_handler()
    assert _place.place() == (str(tmp_path / "profiling_data"), None)
    assert (tmp_path / "profiling_data").stat().st_mode & 0o777 == 0o750


def test_msprof_makes_the_api_do_nothing(monkeypatch, capsys):
    monkeypatch.setenv("PROFILING_MODE", "1")
    prof = st.profile(experimental_config=quiet_config())
    prof.start()
    prof.step()
    prof.stop()
    assert texts(capsys) == [
        "Environment variable 'PROFILING_MODE' is set. torch_npu profiler api is not effective. "
        "Please execute 'unset PROFILING_MODE'."
    ]


def test_exports_without_a_recording(tmp_path, capsys):
    prof = st.profile(experimental_config=quiet_config())
    prof.export_chrome_trace(str(tmp_path / "x.json"))
    prof.export_stacks(str(tmp_path / "x.log"))
    prof.export_memory_timeline(str(tmp_path / "x.json"))
    assert texts(capsys) == [
        "Call export_chrome_trace failed. Exception: Invalid profiling path.",
        "Function export_stacks() requires with_stack=True.",
        "record_shapes, profile_memory, with_stack or with_modules required for memory profiling.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_analyse_of_a_missing_path(capsys):
    st.analyse("/does/not/exist")
    assert texts(capsys) == [
        "Call analyse failed. Exception: The path does not exist: /does/not/exist"
    ]


def test_supported_sets():
    assert st.supported_activities() == {st.ProfilerActivity.CPU, st.ProfilerActivity.NPU}
    assert {level.value for level in st.supported_profiler_level()} == {
        "Level0", "Level1", "Level2", "Level_none"}  # fmt: skip
    assert len(st.supported_ai_core_metrics()) == 9
    assert {kind.value for kind in st.supported_export_type()} == {"text", "db"}


def test_names_that_torch_npu_programs_import():
    program = (
        "import sys\n"
        "import sonde.torch, sonde.torch.profiler, sonde.torch.dynamic_profile\n"
        "sys.modules['torch_npu.profiler'] = sonde.torch\n"
        "from sonde.torch import (profile, _KinetoProfile, schedule, tensorboard_trace_handler,"
        " ProfilerAction, ProfilerActivity, supported_activities, _ExperimentalConfig,"
        " ProfilerLevel, AiCMetrics, ExportType, HostSystem, supported_profiler_level,"
        " supported_ai_core_metrics, supported_export_type)\n"
        "from sonde.torch.profiler import analyse\n"
        "from sonde.torch.dynamic_profile import init, step, start, set_state\n"
        "import json; print(json.dumps(['torch' in sys.modules, 'ctypes' in sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout)[0] is False


def test_memory_page(monkeypatch, capsys):
    """Drawn by whatever stands in matplotlib's place; without it a warning."""
    import types
    from unittest import mock

    from sonde.session import _export

    times_us, sizes = _export._running_sums([(10_000, 100), (20_000, 50), (30_000, -100)])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert _export._memory_page(times_us, sizes, None) == ""
    assert texts(capsys) == ["matplotlib.pyplot was not found."]

    figure, axes = mock.Mock(), mock.Mock()
    figure.savefig.side_effect = lambda file, format: file.write(b"PNG")
    pyplot = types.SimpleNamespace(subplots=lambda figsize: (figure, axes), close=lambda _: None)
    library = types.SimpleNamespace(use=lambda _: None, pyplot=pyplot)
    monkeypatch.setitem(sys.modules, "matplotlib", library)
    page = _export._memory_page(times_us, sizes, "cpu")
    assert "<title>Memory Timeline HTML</title>" in page and "base64,UE5H" in page
    seconds, layers = axes.stackplot.call_args.args
    assert seconds == [0.0, 1e-05, 2e-05]
    assert [layer[-1] * 2**30 for layer in layers] == [0, 0, 0, 0, 0, 0, 0, 50]
    assert "peak 150 bytes" in axes.set_title.call_args.args[0]
