"""Collectives of two Gloo ranks: both ranges, their groups, bytes, types and peers."""

import json
import os
import subprocess

import harness
import pytest
import torch

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="torch without Gloo",
)

PREAMBLE = f"""
import json, os, sys
sys.path.insert(0, {str(harness.ROOT / "test" / "torch")!r})
import torch
import torch.distributed as dist
import harness
from capture_reader import COLLECTIVE, COLLECTIVE_WORK
torch.set_num_threads(1)
harness.attach()
rank = int(os.environ["RANK"])

def show(session):
    rows = []
    records = sorted(session.capture.of(COLLECTIVE, COLLECTIVE_WORK), key=lambda r: r.ticks)
    for record in records:
        args = dict(record.args)
        args.pop("inputs", None)
        if "group_ranks" in args:
            args["group_ranks"] = json.loads(args["group_ranks"])
        rows.append([record.kind == COLLECTIVE, record.name, args, record.dur, record.thread])
    print("RESULT" + json.dumps(rows), flush=True)
"""


class Rows(list):
    """What a rank showed; `printed` has the words of its other lines by the first."""

    def __init__(self, output):
        (shown,) = (line for line in output.splitlines() if line.startswith("RESULT"))
        super().__init__(json.loads(shown[len("RESULT") :]))
        lines = [line.split() for line in output.splitlines() if line.strip()]
        self.printed = {first: rest for first, *rest in lines}


@pytest.fixture(scope="module", name="run")
def make_run(prepared, tmp_path_factory):
    """run(program) gives rows [is call, name, args, duration, thread] of each of two ranks."""

    def run(program):
        folder = tmp_path_factory.mktemp("ranks")
        (folder / "rank.py").write_text(PREAMBLE + program)
        # As torchrun does it: both meet at a store of ours, whose port the system chooses.
        store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        environment = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "WORLD_SIZE": "2",
        }
        started = [
            subprocess.Popen([prepared.python, folder / "rank.py"], text=True,
                             env={**environment, "RANK": str(rank)},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for rank in range(2)
        ]  # fmt: skip
        outputs = [rank.communicate(timeout=300) for rank in started]
        for rank, (_, errors) in zip(started, outputs):
            assert rank.returncode == 0, errors[-3000:]
        return [Rows(output) for output, _ in outputs]

    return run


def split(rows):
    return [row for row in rows if row[0]], [row for row in rows if not row[0]]


ALL_KINDS = """
dist.init_process_group("gloo")
pair = dist.new_group([1, 0])
x = torch.ones(1000)
with harness.record(harness.OPS{shapes}) as session:
    dist.all_reduce(x)
    dist.all_reduce(torch.ones(10, dtype=torch.float64), async_op=True).wait()
    dist.broadcast(torch.ones(20, dtype=torch.int64), 0, group=pair)
    dist.all_gather([torch.ones(30), torch.ones(30)], torch.ones(30))
    dist.all_gather_into_tensor(torch.ones(80), torch.ones(40))
    dist.reduce(torch.ones(50), 1)
    dist.scatter(torch.ones(60), [torch.ones(60)] * 2 if rank == 0 else None, src=0)
    dist.gather(torch.ones(70), [torch.ones(70)] * 2 if rank == 0 else None)
    dist.barrier()
    if rank == 0:
        dist.send(torch.ones(90), 1)
    else:
        dist.recv(torch.ones(90), 0)
dist.barrier()
show(session)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("shapes", ["", " | harness.SHAPES"])
def test_all_kinds_with_two_groups(run, shapes):
    world = {"group_name": "0", "group_ranks": [0, 1], "backend": "gloo"}
    for rank, rows in enumerate(run(ALL_KINDS.format(shapes=shapes))):
        calls, works = split(rows)
        facts = [
            ("c10d::allreduce_", 4000, 1000, "float32"),
            ("c10d::allreduce_", 80, 10, "float64"),
            ("c10d::broadcast_", 160, 20, "int64"),
            ("c10d::allgather_", 120, 30, "float32"),
            ("c10d::_allgather_base_", 160, 40, "float32"),
            ("c10d::reduce_", 200, 50, "float32"),
            ("c10d::scatter_", 240, 60, "float32"),
            ("c10d::gather_", 280, 70, "float32"),
            ("c10d::barrier", 0, 0, None),
            ("c10d::send" if rank == 0 else "c10d::recv_", 360, 90, "float32"),
        ]
        found = [
            (name, args["bytes"], args["count"], args.get("dtype")) for _, name, args, _, _ in calls
        ]
        assert found == facts
        for _, name, args, _, _ in calls:
            if name == "c10d::broadcast_":
                assert args["group_name"] != "0"
                assert sorted(args["group_ranks"]) == [0, 1]
            else:
                assert {key: args[key] for key in world} == world
        assert calls[-1][2]["peer_rank"] == 1 - rank
        # Every work has the facts of its call.
        by_name = [(name.replace("gloo:", ""), args) for _, name, args, _, _ in works]
        assert len(by_name) >= 9
        call_args = [args for _, _, args, _, _ in calls]
        assert all(args in call_args for _, args in by_name)
        assert all(0 < dur < 1 << 44 for _, _, _, dur, _ in rows)


# Gloo has them since different releases: what a release refuses is not expected from it.
OTHER_KINDS = """
dist.init_process_group("gloo")
ran = []
def attempt(name, call):
    try:
        call()
        ran.append(name)
    except (RuntimeError, NotImplementedError):
        pass
ones = torch.ones
with harness.record(harness.OPS{shapes}) as session:
    attempt("all_to_all_single", lambda: dist.all_to_all_single(ones(20), ones(20)))
    attempt("all_to_all_uneven", lambda: dist.all_to_all_single(
        ones(6 if rank else 4), ones(5), [3, 3] if rank else [2, 2], [2, 3]))
    attempt("reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(ones(30), ones(60)))
    attempt("reduce_scatter", lambda: dist.reduce_scatter(ones(40), [ones(40)] * 2))
    attempt("all_reduce_coalesced", lambda: dist.all_reduce_coalesced([ones(7), ones(8)]))
    attempt("monitored_barrier", lambda: dist.monitored_barrier())
    attempt("object", lambda: dist.broadcast_object_list([None, {{"a": 1}}], 0))
dist.barrier()
show(session)
print("RAN", *ran)
dist.destroy_process_group()
"""
OTHER_FACTS = {  # what it is called as, what was asked for, and (bytes, elements) of its calls
    "c10d::alltoall_base_": (["all_to_all_single", "all_to_all_uneven"], [(80, 20), (20, 5)]),
    "c10d::_reduce_scatter_base_": (["reduce_scatter_tensor"], [(240, 60)]),
    "c10d::reduce_scatter_": (["reduce_scatter"], [(320, 80)]),
    "c10d::allreduce_coalesced_": (["all_reduce_coalesced"], [(60, 15)]),
}


@pytest.mark.parametrize("shapes", ["", " | harness.SHAPES"])
def test_other_kinds(run, shapes):
    world = {"group_name": "0", "group_ranks": [0, 1], "backend": "gloo"}
    for rows in run(OTHER_KINDS.format(shapes=shapes)):
        calls, works = split(rows)
        found = {}
        for _, name, args, _, _ in calls:
            assert {key: args[key] for key in world} == world, name
            found.setdefault(name, []).append((args.get("bytes"), args.get("count")))
        ran = rows.printed["RAN"]
        assert {"all_to_all_single", "all_to_all_uneven", "object"} <= set(ran)
        for name, (asked, facts) in OTHER_FACTS.items():
            expected = [fact for attempt, fact in zip(asked, facts) if attempt in ran]
            assert len(found.get(name, [])) == len(expected), name
            if shapes:  # one group: without inputs only the works know what was moved
                assert found.get(name, []) == expected, name
        assert "c10d::broadcast_" in found  # of the pickled object
        assert len(works) >= len(ran) - 1  # monitored_barrier makes none
        assert all(row[2].get("group_name") == "0" for row in works), works
        assert all(0 < row[3] < 1 << 44 for row in rows)


def test_one_group_without_inputs(run):
    """The cheap way: calls know the group, works everything."""
    program = """
dist.init_process_group("gloo")
with harness.record(harness.OPS) as session:
    for size in (10, 20, 30):
        dist.all_reduce(torch.ones(size))
    dist.all_gather_into_tensor(torch.ones(80), torch.ones(40))
dist.barrier()
show(session)
dist.destroy_process_group()
"""
    for rows in run(program):
        calls, works = split(rows)
        assert all(row[2]["group_ranks"] == [0, 1] for row in rows)
        assert [row[2]["bytes"] for row in works] == [40, 80, 120, 160]
        assert {row[2]["dtype"] for row in works} == {"float32"}
        assert len(calls) == 4
        assert {row[4] for row in works} != {row[4] for row in calls}


def test_groups_made_during_the_session(run):
    program = """
with harness.record(harness.OPS) as session:
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(10))
    second = dist.new_group([0, 1])
    third = dist.new_group([0, 1])
    dist.all_reduce(torch.ones(20), group=third)
    dist.all_reduce(torch.ones(30), group=third)
    dist.all_reduce(torch.ones(40), group=second)
names = {str(dist.distributed_c10d._world.pg_names[g]) for g in (second, third)}
dist.barrier()
session.capture.records = [r for r in session.capture.records if "reduce" in r.name]
show(session)
print("NAMES", *sorted(names))
dist.destroy_process_group()
"""
    for rows in run(program):
        calls, _ = split(rows)
        assert [row[2]["group_ranks"] for row in calls] == [[0, 1]] * 4
        groups = [row[2]["group_name"] for row in calls]
        assert groups[0] == "0"
        assert groups[2] != groups[3] and {groups[2], groups[3]} == set(rows.printed["NAMES"])


def test_data_parallel_training(run):
    """Reductions that the C++ reducer makes, not the program; losses must not change."""
    program = """
dist.init_process_group("gloo")
def train(steps):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.002)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    losses = []
    for _ in range(steps):
        loss = model(torch.randn(4, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, sum(p.numel() * 4 for p in net.parameters())
plain, size = train(3)
with harness.record(harness.OPS | harness.SHAPES | harness.MODULES) as session:
    recorded, size = train(3)
assert plain == recorded, (plain, recorded)
session.capture.records = [r for r in session.capture.records if "reduce" in r.name]
show(session)
print("SIZE", size)
dist.destroy_process_group()
"""
    parameters = (32 * 64 + 64 + 64 * 8 + 8) * 4
    for rows in run(program):
        calls, works = split(rows)
        assert rows.printed["SIZE"] == [str(parameters)]
        assert sum(row[2]["bytes"] for row in calls) == 3 * parameters
        assert sum(row[2]["bytes"] for row in works) == 3 * parameters
        assert all(row[2]["group_name"] == "0" for row in rows)


def test_functional_collectives(run):
    program = """
import torch.distributed._functional_collectives as functional
dist.init_process_group("gloo")
with harness.record(harness.OPS) as session:
    out = functional.all_reduce(torch.ones(25), "sum", dist.group.WORLD) + 1
assert out.tolist() == [3.0] * 25
show(session)
names = {record.name for record in session.capture.records}
assert "_c10d_functional::all_reduce" in names, names
dist.destroy_process_group()
"""
    for rows in run(program):
        calls, works = split(rows)
        assert [row[1] for row in calls] == ["c10d::allreduce_"]
        assert works[0][2]["bytes"] == 100


@pytest.mark.parametrize("size", [8, 4096])
def test_groups_of_many_ranks(size, prepared):
    """However many they are, every call has them; torch's fake group has no peers."""
    program = f"""
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", rank=0, world_size={size}, store=FakeStore())
even = dist.new_group(list(range(0, {size}, 2)))
with harness.record(harness.OPS | harness.SHAPES) as session:
    dist.all_reduce(torch.ones(10))
    dist.all_reduce(torch.ones(20), group=even)
show(session)
print("RESULT" + json.dumps(session.capture.issues))
"""
    done = subprocess.run(
        [prepared.python, "-c", PREAMBLE + program],
        env={**os.environ, "RANK": "0", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    lines = [t[len("RESULT") :] for t in done.stdout.splitlines() if t.startswith("RESULT")]
    rows, issues = map(json.loads, lines)
    calls, _ = split(rows)
    assert [row[2]["group_ranks"] for row in calls] == [
        list(range(size)),
        list(range(0, size, 2)),
    ]
    assert [row[2]["bytes"] for row in calls] == [40, 80]
    assert not [issue for issue in issues if "left out" in issue]
