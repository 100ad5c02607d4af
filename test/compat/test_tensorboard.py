"""TensorBoard's PyTorch plugin reads the Kineto export, and its views have content."""

import shutil

import pytest
from torch_tb_profiler.io.cache import Cache
from torch_tb_profiler.profiler.loader import RunLoader


@pytest.fixture(scope="module", name="profiles")
def load_run(profile, tmp_path_factory):
    """{worker: the plugin's profile of its span}."""
    folder = tmp_path_factory.mktemp("tensorboard")
    for trace in profile("kineto").glob("*_ascend_pt/**/*.pt.trace.json"):
        shutil.copy(trace, folder)
    run = RunLoader("run", str(folder), Cache()).load()
    return {worker: run.profiles[worker, span] for worker, span in run.profiles}


def test_every_worker_has_the_views(profiles):
    assert len(profiles) == 2
    for profile in profiles.values():
        names = {view.display_name for view in profile.views}
        assert {"Overview", "Operator", "Kernel", "Trace", "Memory", "Module"} <= names


def test_overview_splits_the_step(profiles):
    for profile in profiles.values():
        (step,) = profile.overview["performance"]
        parts = {part["name"]: part["value"] for part in step["children"]}
        assert step["value"] > parts["Kernel"] > 0
        assert parts["CPU Exec"] > 0
        assert sum(parts.values()) == pytest.approx(step["value"], rel=0.01)


def test_operators_and_kernels_are_listed(profiles):
    for profile in profiles.values():
        operators = {row["name"]: row for row in profile.operation_table_by_name["data"]}
        assert operators["aten::addmm"]["calls"] > 0
        assert operators["aten::addmm"]["host_total_duration"] > 0
        assert len(profile.kernel_table["data"]["rows"]) > 5


def test_modules_nest(profiles):
    for profile in profiles.values():
        assert any(module.children for module in profile.module_stats)
        assert all(module.host_duration > 0 for module in profile.module_stats)
