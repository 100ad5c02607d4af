"""Conservation of a trace where the CPU is the device: for every thread, the own times of its
operators are its tasks. Used by the tests of several folders."""

import collections

# Operators whose own ranges are on the tracks of their threads.
OPERATORS = (
    "SELECT slice_id, parent_id, thread_id, scope, s.ts, s.dur FROM slice s JOIN track USING "
    "(track_id) LEFT JOIN framework_op USING (slice_id) WHERE kind = 'thread' ORDER BY slice_id"
)
TASKS = (
    "SELECT slice_id, t.thread_id, d.ts, d.dur FROM device_task d JOIN track t USING (track_id) "
    "ORDER BY t.thread_id, d.ts, d.dur"
)


def own_times(slices):
    """ns of each operator without those that it calls, by slice; of each thread in operators."""
    by_id = {row["slice_id"]: row for row in slices}
    own = {}
    threads = collections.Counter()
    for row in slices:
        if str(row["scope"]) != "0" or int(row["dur"]) < 0:
            continue
        own[row["slice_id"]] = own.get(row["slice_id"], 0) + int(row["dur"])
        outer = by_id.get(row["parent_id"])
        while outer is not None and (str(outer["scope"]) != "0" or int(outer["dur"]) < 0):
            outer = by_id.get(outer["parent_id"])
        if outer is None:
            threads[row["thread_id"]] += int(row["dur"])
        else:
            own[outer["slice_id"]] = own.get(outer["slice_id"], 0) - int(row["dur"])
    return own, threads


def check_conservation(rows):
    """`rows(sql)`: the rows of a trace as dictionaries."""
    own, threads = own_times(rows(OPERATORS))
    tasks = rows(TASKS)
    assert {row["slice_id"]: int(row["dur"]) for row in tasks} == own
    assert len(tasks) == len(own) > 20
    sums = collections.Counter()
    ends = {}
    for row in tasks:
        begin, thread = int(row["ts"]), row["thread_id"]
        assert begin >= ends.get(thread, begin), "tasks of a stream overlap"
        ends[thread] = begin + int(row["dur"])
        sums[thread] += int(row["dur"])
    assert sums == threads
