"""What is wrong in a configuration of MindSpore's dump, in one line, before a program starts.

MindSpore 2.10 has a message for each row but `iteration`; none is needed here."""

import copy
import json
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "python"))

from sonde.mindspore import _dump_config  # noqa: E402
from sonde.torch.precision._errors import ProbeError  # noqa: E402

RIGHT = {
    "common_dump_settings": {
        "op_debug_mode": 0, "dump_mode": 0, "path": "/tmp/x", "net_name": "Net",
        "iteration": "0|3-5", "saved_data": "tensor", "input_output": 0, "kernels": [],
        "support_device": [0],
    },
    "e2e_dump_settings": {"enable": True, "trans_flag": True},
}  # fmt: skip
# {key: value} of a configuration that is right otherwise; None: without the key.
WRONG = [
    ({"op_debug_mode": 7}, "op_debug_mode 7 must be one of 0, 3, 4"),
    ({"dump_mode": 9}, "dump_mode 9 must be one of 0, 1, 2"),
    ({"dump_mode": 2}, "dump_mode 2 (set_dump) is supported on Ascend only"),
    ({"dump_mode": None}, "common_dump_settings has no dump_mode"),
    ({"input_output": True}, "input_output true must be one of 0, 1, 2"),
    ({"path": "/a b"}, "must be of letters, digits, '-', '_' and '/' only"),
    ({"path": "a"}, 'path "a" must be absolute'),
    ({"path": ""}, "is empty, and MS_DIAGNOSTIC_DATA_PATH is not set"),
    ({"net_name": "a b"}, "net_name \"a b\" must be of letters, digits, '-' and '_'"),
    ({"iteration": "1-"}, "must be 'all' or numbers and ranges like '0|3-5'"),
    ({"saved_data": "all"}, "must be one of tensor, statistic, full"),
    ({"saved_data": "statistic"}, "saved_data statistic is supported on GPU and Ascend only"),
    ({"kernels": "Add"}, 'kernels "Add" must be a list'),
    ({"support_device": "0"}, 'support_device "0" must be a list'),
    ({"statistic_category": ["max", "median"]}, "statistic_category has no median; known are max,"),
    ({"overflow_number": 3}, "overflow_number only needs to be set when op_debug_mode is 3"),
    ({"file_format": "csv"}, 'file_format "csv" must be one of bin, npy'),
    ({"enable": "true"}, 'enable "true" must be true or false'),
    ({"stat_calc_mode": "gpu"}, "must be one of host, device"),
    ({"device_stat_precision_mode": "mid"}, "must be one of high, low"),
    ({"sample_mode": 2}, "sample_mode 2 must be one of 0, 1"),
    ({"sample_num": 0}, "sample_num 0 must be above 0"),
]
OF_E2E = {"enable", "stat_calc_mode", "device_stat_precision_mode", "sample_mode", "sample_num"}


@pytest.fixture(name="problem")
def make_problem(tmp_path, monkeypatch):
    """problem(content): the reported fault, None where it is right."""
    monkeypatch.delenv("MS_DIAGNOSTIC_DATA_PATH", raising=False)
    monkeypatch.setattr(_dump_config, "_has_device", lambda: False)

    def problem(content):
        path = tmp_path / "dump.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        try:
            _dump_config.check(str(path))
        except ProbeError as found:
            return str(found)
        return None

    return problem


def test_what_is_right(problem, monkeypatch):
    assert problem(RIGHT) is None
    of_a_device = copy.deepcopy(RIGHT)
    of_a_device["common_dump_settings"] |= {"saved_data": "statistic", "dump_mode": 2}
    monkeypatch.setattr(_dump_config, "_has_device", lambda: True)
    assert problem(of_a_device) is None


@pytest.mark.parametrize("change, words", WRONG, ids=lambda given: str(given)[:40])
def test_what_is_wrong(change, words, problem):
    content = copy.deepcopy(RIGHT)
    ((key, value),) = change.items()
    part = content["e2e_dump_settings" if key in OF_E2E else "common_dump_settings"]
    part[key] = value
    if value is None:
        del part[key]
    assert words in problem(content)


@pytest.mark.parametrize(
    "content, words",
    [("{", "cannot be read"), ([], "has no object common_dump_settings"),
     ({"common_dump_settings": {}}, "common_dump_settings has no op_debug_mode, dump_mode"),
     ({**RIGHT, "e2e_dump_settings": []}, "e2e_dump_settings must be an object")],
)  # fmt: skip
def test_what_is_no_configuration(content, words, problem):
    assert words in problem(content)
