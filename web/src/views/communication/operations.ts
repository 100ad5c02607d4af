/** Each operation with what it waited, moved and rested, and its bandwidth while it moved. Waits that were not recorded
 * are known by when all ranks arrived: the result `communication` has them, for operations that lie in a step. */
const CASE =
  "CASE WHEN coalesce(c.transit_ns, o.transit_ns) > 0 THEN o.size_bytes / coalesce(c.transit_ns, o.transit_ns) END";

/** `trace`: one of several, by its number; null: the only one. */
export function operationsStatement(trace: number | null): string {
  const both = ["transit_ns", "wait_ns", "idle_ns"]
    .map((name) => `coalesce(c.${name}, o.${name}) AS ${name}`)
    .join(", ");
  const [first, on, where] =
    trace === null ? ["", "", ""] : ["o.trace, ", " AND c.trace = o.trace", ` WHERE o.trace = ${trace}`];
  return (
    `SELECT ${first}o.slice_id, o.name, c.kind, o.op_type, o.group_name, o.step_id, o.ts, o.dur, ${both}, o.size_bytes, ` +
    `${CASE} AS gb_per_s, o.data_type, o.rank_size, o.peer_rank, o.algorithm FROM communication_op AS o ` +
    `LEFT JOIN communication AS c ON c.slice_id = o.slice_id${on}${where} ORDER BY o.dur DESC`
  );
}
