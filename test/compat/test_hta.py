"""HolisticTraceAnalysis reads the Kineto export, and its breakdowns come out."""

import pytest
from hta.trace_analysis import TraceAnalysis


@pytest.fixture(scope="module", name="analysis")
def open_traces(profile):
    traces = sorted(profile("kineto").glob("*_ascend_pt/**/*.pt.trace.json"))
    assert len(traces) == 2
    return TraceAnalysis(trace_files=dict(enumerate(map(str, traces))))


def test_temporal_breakdown(analysis):
    table = analysis.get_temporal_breakdown(visualize=False)
    assert sorted(table["rank"]) == [0, 1]
    assert (table["compute_time_pctg"] > 0).all()


def test_kernel_breakdown(analysis):
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    assert {"COMPUTATION", "COMMUNICATION"} <= {
        kind for text in kinds["kernel_type"] for kind in text.split(" overlapping ")
    }
    assert len(kernels) > 5


def test_communication_overlap(analysis):
    table = analysis.get_comm_comp_overlap(visualize=False)
    assert table["comp_comm_overlap_pctg"].between(0, 100).all()


def test_idle_time(analysis):
    table, _ = analysis.get_idle_time_breakdown(ranks=[0, 1], visualize=False)
    assert set(table["rank"]) == {0, 1}


def test_steps(analysis):
    assert len(analysis.get_profiler_steps()) >= 2
