"""SQL on imported ranks gives the results of msprof-analyze 26.2.0 on the same databases."""

import csv
from decimal import Decimal

import ascend_reader as reader
import pytest


@pytest.fixture(scope="module", name="span")
def copy_ranks(shared_data, tmp_path_factory):
    """The folder of two ranks."""
    folder = tmp_path_factory.mktemp("golden") / "level1"
    return reader.copy_of(shared_data / "ascend_pt/db/level1", folder)


def golden(shared_data, name, *columns):
    mode, table = name.split("/")
    path = (
        shared_data / "golden/msprof-analyze" / mode
        / "db_level1_db/cluster_analysis_output/tables" / f"{table}.csv"
    )  # fmt: skip
    with open(path, newline="", encoding="utf-8") as file:
        return sorted(
            tuple(Decimal(row[c]) if c.endswith("Ns") else row[c] for c in columns)
            for row in csv.DictReader(file)
        )


def rows(found, numbers):
    return sorted(
        tuple(Decimal(cell) if i in numbers else cell for i, cell in enumerate(row))
        for row in found
    )


def test_host_calls_of_all_ranks(query, shared_data):
    expected = golden(shared_data, "cann_api_sum/CannApiSum", "name", "totalCount", "totalTimeNs",
                      "minNs", "maxNs")  # fmt: skip
    found = query(
        "SELECT s.name, count(*), sum(s.dur)::BIGINT, min(s.dur), max(s.dur) FROM api_call a "
        "JOIN slice s ON s.rank = a.rank AND s.slice_id = a.slice_id GROUP BY 1"
    )
    assert rows(found, {2, 3, 4}) == expected


def test_kernels_of_each_rank(query, shared_data):
    expected = golden(shared_data, "compute_op_sum/ComputeOpPerRankStatsByOpType", "OpType",
                      "TaskType", "Count", "SumNs", "MinNs", "MaxNs", "Rank")  # fmt: skip
    found = query(
        "SELECT op_type, core, count(*), sum(dur)::BIGINT, min(dur), max(dur), rank "
        "FROM device_task WHERE core IS NOT NULL GROUP BY op_type, core, rank"
    )
    assert rows(found, {3, 4, 5}) == expected


def test_communication_of_each_rank(query, shared_data):
    expected = golden(shared_data, "hccl_sum/HcclPerRankStats", "OpType", "Count", "SumNs", "MinNs",
                      "MaxNs", "Rank")  # fmt: skip
    found = query(
        "SELECT 'hcom_allReduce_', count(*), sum(dur)::BIGINT, min(dur), max(dur), rank "
        "FROM communication_op WHERE op_type = 'allreduce' GROUP BY rank"
    )
    assert rows(found, {2, 3, 4}) == expected
