"""Schedules: actions of steps, operations between actions, warnings."""

import sys

import pytest
from sonde import _machine, _native
from sonde.torch import ProfilerAction, schedule

LETTERS = {"-": "NONE", "w": "WARMUP", "r": "RECORD", "s": "RECORD_AND_SAVE"}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, "-wrs----"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, "-wrs-wrs---"),
        ({"wait": 0, "warmup": 1, "active": 1}, "wswswsws"),
        ({"wait": 0, "warmup": 0, "active": 1, "repeat": 3}, "sss---"),
        ({"wait": 0, "warmup": 0, "active": 3, "repeat": 1}, "rrs---"),
        ({"wait": 2, "warmup": 0, "active": 1, "skip_first": 3, "repeat": 1}, "-----s---"),
        # The wait of the first cycle only is left out.
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
         "-ws--ws--ws"),
        # What the launcher makes of --profile-step-start 5 --profile-step-end 6.
        ({"wait": 0, "warmup": 1, "active": 1, "skip_first": 4, "repeat": 1}, "----ws---"),
    ],
)  # fmt: skip
def test_actions(parameters, expected):
    plan = schedule(**parameters)
    got = [plan(step).name for step in range(len(expected))]
    assert got == [LETTERS[letter] for letter in expected]


@pytest.mark.parametrize(
    "parameters",
    [
        {"wait": 0, "warmup": 1, "active": sys.maxsize},  # until the program stops
        {"wait": 2**32, "warmup": 1, "active": 1},
        {"wait": 2**31, "warmup": 1, "active": 1},
        {"wait": 1, "warmup": 1, "active": 1, "skip_first": 2**32},
        {"wait": 1, "warmup": 1, "active": 1, "repeat": 2**32},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 2**32},
        {"wait": 2, "warmup": 2**40, "active": 2**40, "repeat": 2**40},
    ],
)
def test_numbers_beyond_32_bits_give_the_actions_of_torch(parameters):
    theirs = pytest.importorskip("torch.profiler").schedule(**parameters)
    ours = schedule(**parameters)
    steps = [*range(12), 10**6, 2**31 - 10]
    assert [ours(step).name for step in steps] == [theirs(step).name for step in steps]
    assert ours.config()["wait"] == parameters["wait"]


def test_negative_step_is_an_error():
    with pytest.raises(ValueError, match="not less than 0"):
        schedule(wait=0, warmup=1, active=1)(-1)


INIT, WARM, START, STOP, FINAL, READY, DELETE = range(1, 8)
SAVE = [STOP, FINAL, READY]
EXIT = -1


# Rows: previous action; columns: NONE, WARMUP, RECORD, RECORD_AND_SAVE, exit.
@pytest.mark.parametrize(
    ("previous", "row"),
    [
        (0, [([], 0), ([INIT, WARM], 0), ([INIT, START], 0), ([INIT, START], 0), ([], 0)]),
        (1, [([START, STOP, FINAL], 1), ([], 0), ([START], 0), ([START], 0),
             ([FINAL, DELETE], 4)]),
        (2, [([STOP, FINAL], 2), ([STOP, FINAL], 3), ([], 0), ([], 0), (SAVE, 5)]),
        (3, [(SAVE, 0), ([*SAVE, INIT, WARM], 0), ([*SAVE, INIT, START], 0),
             ([*SAVE, INIT, START], 0), (SAVE, 6)]),
    ],
)  # fmt: skip
def test_transitions(previous, row):
    for current, expected in zip([0, 1, 2, 3, EXIT], row):
        assert _native.recorder().schedule_transition(previous, current) == expected


def test_machine_carries_out_operations_in_order_and_warns():
    done, warned = [], []
    names = {1: "init", 2: "warmup", 3: "start", 4: "stop", 5: "finalize", 6: "ready", 7: "delete"}
    operations = {number: (lambda name=name: done.append(name)) for number, name in names.items()}
    machine = _machine.Machine(operations, warned.append)
    for action in (ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
        machine.change(action.value)
    machine.change(_machine.EXIT)
    assert done == ["init", "warmup", "start", "stop", "finalize", "ready"]
    assert warned == [
        "Stop profiler while current state is RECORD_AND_SAVE, "
        "perhaps the scheduling cycle has not yet completed."
    ]
    assert machine.action == _machine.NONE


@pytest.mark.parametrize(
    ("parameters", "texts", "values"),
    [
        ({"wait": -1, "active": 1, "warmup": 1}, ["Invalid parameter wait, reset it to 0."],
         {"wait": 0}),
        ({"wait": 0, "active": 0, "warmup": 1}, ["Invalid parameter active, reset it to 1."],
         {"active": 1}),
        ({"wait": 0, "active": True, "warmup": 1}, ["Invalid parameter active, reset it to 1."],
         {"active": 1}),
        ({"wait": 0, "active": 1, "warmup": 1.5, "repeat": "2"},
         ["Invalid parameter warmup, reset it to 0.", "Invalid parameter repeat, reset it to 0.",
          "Profiler won't be using warmup, this can skew profiler results"],
         {"warmup": 0, "repeat": 0}),
        ({"wait": 0, "active": 1, "warmup": 1, "skip_first": -1},
         ["Invalid parameter skip_first, reset it to 0."], {"skip_first": 0}),
        ({"wait": 0, "active": 1},
         ["Profiler won't be using warmup, this can skew profiler results"], {}),
    ],
)  # fmt: skip
def test_impossible_numbers(parameters, texts, values, capsys):
    plan = schedule(**parameters)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("profiler.py: ")[1] for line in lines] == texts
    assert all("[WARNING]" in line for line in lines)
    for name, value in values.items():
        assert plan.config()[name] == value
