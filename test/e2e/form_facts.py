"""What a trace holds, table by table, as rows, sums and keys that do not depend on its form.

A fact is (table, kind) with (rows, sum in the unit of the table, different keys). Numbers that a
form gives itself (of slices, tracks, connections) are no keys.
"""

import csv
import io
import re

# Of a task that ran in parts timelines show the parts, databases both.
WHOLE = """NOT (context_id IS NULL AND EXISTS (SELECT 1 FROM device_task p
  WHERE p.context_id IS NOT NULL AND p.track_id = d.track_id AND p.queue_number = d.queue_number
  AND p.ts >= d.ts AND p.ts + p.dur <= d.ts + d.dur))"""

FACTS = f"""
SELECT 'device_task' AS what, '' AS kind, count(*), coalesce(sum(d.dur), 0)::BIGINT,
  count(DISTINCT (d.device_id, d.stream_id)) FROM device_task d WHERE {WHOLE}
UNION ALL SELECT 'device_task', 'kernels', count(*), coalesce(sum(d.dur), 0)::BIGINT,
  count(DISTINCT d.name) FROM device_task d
  WHERE core IS NOT NULL AND core <> 'COMMUNICATION' AND {WHOLE}
UNION ALL SELECT 'device_task', 'types', count(nullif(op_type, 'N/A')), 0,
  count(DISTINCT nullif(op_type, 'N/A'))
  FROM device_task d WHERE core IS NOT NULL AND core <> 'COMMUNICATION' AND {WHOLE}
UNION ALL SELECT 'device_task', 'shapes', count(input_shapes), sum(length(input_shapes))::BIGINT,
  count(DISTINCT input_shapes) FROM device_task
UNION ALL SELECT 'device_task', 'queue numbers', count(queue_number), sum(queue_number)::BIGINT, 0
  FROM device_task d WHERE {WHOLE}
UNION ALL SELECT 'device_task', 'contexts', count(context_id), sum(context_id)::BIGINT, 0
  FROM device_task
UNION ALL SELECT 'device_task', 'launched', count(launch_slice_id), 0, 0 FROM device_task d
  WHERE {WHOLE}
UNION ALL SELECT 'device_task', 'steps', count(step_id), sum(step_id)::BIGINT,
  count(DISTINCT step_id) FROM device_task d WHERE {WHOLE}
UNION ALL SELECT 'device_task_pmu', metric, count(*), round(sum(value))::BIGINT, 0
  FROM device_task_pmu GROUP BY ALL
UNION ALL SELECT 'communication_op', coalesce(op_type, ''), count(*),
  sum(CASE WHEN dur > 0 THEN dur ELSE 0 END)::BIGINT, count(DISTINCT group_name)
  FROM communication_op GROUP BY ALL
UNION ALL SELECT 'communication_op', 'payload', count(size_bytes), sum(size_bytes)::BIGINT,
  count(DISTINCT data_type) FROM communication_op
UNION ALL SELECT 'communication_op', 'wait', count(wait_ns), sum(wait_ns)::BIGINT, 0
  FROM communication_op
UNION ALL SELECT 'communication_op', 'transit', count(transit_ns), sum(transit_ns)::BIGINT, 0
  FROM communication_op
UNION ALL SELECT 'communication_transit', coalesce(transport, ''), sum(packet_count)::BIGINT,
  sum(size_bytes)::BIGINT, count(DISTINCT (src_rank, dst_rank))
  FROM communication_transit GROUP BY ALL
UNION ALL SELECT 'communication_group', '', count(*), sum(length(rank_list))::BIGINT,
  count(DISTINCT name) FROM communication_group
UNION ALL SELECT 'api_call', coalesce(level, ''), count(*), sum(s.dur)::BIGINT,
  count(DISTINCT s.name) FROM api_call JOIN slice s USING (slice_id) GROUP BY ALL
UNION ALL SELECT 'framework_op', CASE scope WHEN 8 THEN 'steps' WHEN 4 THEN 'modules'
    ELSE 'operators' END, count(*), sum(CASE WHEN s.dur > 0 THEN s.dur ELSE 0 END)::BIGINT,
  count(DISTINCT s.name) FROM framework_op JOIN slice s USING (slice_id) GROUP BY ALL
UNION ALL SELECT 'framework_op', 'shapes', count(nullif(input_shapes, '')),
  sum(length(input_shapes))::BIGINT, count(DISTINCT input_types) FROM framework_op
UNION ALL SELECT 'framework_op', 'stacks', count(stack_id), 0, count(DISTINCT stack_id)
  FROM framework_op
UNION ALL SELECT 'framework_op', 'sequence numbers', count(sequence_number),
  sum(sequence_number)::BIGINT, count(DISTINCT sequence_number) FROM framework_op
  WHERE sequence_number >= 0 AND scope IS DISTINCT FROM 8  -- those of steps are their numbers
UNION ALL SELECT 'slice', t.kind, count(*), sum(CASE WHEN s.dur > 0 THEN s.dur ELSE 0 END)::BIGINT,
  count(DISTINCT s.name) FROM slice s JOIN track t USING (track_id) WHERE t.kind IN
  ('thread', 'module', 'python', 'gc', 'os_runtime', 'communication_plane', 'communication_group')
  GROUP BY ALL
UNION ALL SELECT 'flow', kind, count(*), 0, 0 FROM flow GROUP BY ALL
UNION ALL SELECT 'counter', t.name, count(*), sum(value), 0
  FROM counter JOIN track t USING (track_id) GROUP BY ALL
UNION ALL SELECT 'memory_event', coalesce(component, ''), count(*),
  sum(total_allocated)::BIGINT, count(DISTINCT device_index) FROM memory_event GROUP BY ALL
UNION ALL SELECT 'memory_event', 'sizes', count(size_bytes), sum(size_bytes)::BIGINT, 0
  FROM memory_event
UNION ALL SELECT 'memory_block', '', count(*), sum(size_bytes)::BIGINT, count(DISTINCT name)
  FROM memory_block
UNION ALL SELECT 'memory_block', 'freed', count(free_ts), sum(free_ts - alloc_ts)::BIGINT, 0
  FROM memory_block
UNION ALL SELECT 'mark', coalesce(kind, ''), count(*), sum(dur)::BIGINT,
  count(DISTINCT (domain, message)) FROM mark GROUP BY ALL
UNION ALL SELECT 'step', '', count(*), sum(dur)::BIGINT, count(DISTINCT step_id) FROM step
UNION ALL SELECT 'process', 'ranks', count(DISTINCT rank), max(rank)::BIGINT, 0 FROM process
UNION ALL SELECT 'process', 'hosts', count(DISTINCT host), 0, 0 FROM process WHERE host <> ''
"""


MEGA = 1024**2
# Counters as timelines and as databases have them: the name there, that here, the factor.
SERIES = [
    (r"HBM (\d+)/(Read|Write) \2\(MB/s\)", r"HBM \1 {2} B/s", MEGA),
    (r"LLC (\d+) (Read|Write)/Hit Rate Hit Rate\(%\)", r"LLC \1 {2} Hit Rate %", 100),
    (r"LLC (\d+) (Read|Write)/Throughput Throughput\(MB/s\)", r"LLC \1 {2} Throughput B/s", MEGA),
    (r"DDR/(Read|Write) \1\(MB/s\)", r"DDR \1 B/s", MEGA),
    (r"(APP|Device)/(DDR|HBM) KB", r"NPU MEM {1} \2 B", 1024),
    (r"(\w+)\[acc_id (\d+)\] value", r"Acc PMU \2 \1", 1),
    (r"(L2 Buffer|Mata) Bw Level \1 Bw Level", r"Stars Soc Info \1 Bw Level", 1),
    (r"(Tx|Rx) \1\(MB/s\)", r"HCCS \1 B/s", MEGA),
    (r"PCIe_(post|nonpost|cpl) (Tx|Rx)", r"PCIe \2 \1 B/s", MEGA),
    (r"PCIe_nonpost_latency Tx", "PCIe Tx nonpost latency ns", 1000),
    (r"SIO/(\w+) die (\d+)", r"SIO die \2 \1", MEGA),
    (r"QoS (\w+) value", r"QoS \1 B/s", MEGA),
]


def counter_of(name):
    """The name in a database, and the factor of its values."""
    for pattern, named, factor in SERIES:
        found = re.fullmatch(pattern, name)
        if found:
            for i, part in enumerate(found.groups(), 1):
                named = named.replace(f"{{{i}}}", part.lower()).replace(f"\\{i}", part)
            return named.replace("write_band_width", "write_bandwidth"), factor
    return name.removesuffix(" value"), 1


def facts_of(run_sonde, path):
    """{(table, kind): (rows, sum, keys)} of what is there."""
    done = run_sonde("query", path, FACTS, "--format", "csv")
    assert done.returncode == 0, done.stderr
    facts = {}
    for table, kind, *cells in list(csv.reader(io.StringIO(done.stdout)))[1:]:
        rows, total, keys = (float(cell or 0) for cell in cells)
        if table == "counter":
            kind, factor = counter_of(kind)
            total *= factor
        if rows or total or keys:
            facts[table, kind] = (int(rows), round(total), int(keys))
    return facts
