/** The tables of the page: statements on the store's public tables (docs/reference/store.md). */
import type { TextKey } from "../../i18n";

export interface Preset {
  name: string;
  title: TextKey;
  sql: string;
}

const totals = (columns: string, from: string) =>
  `SELECT ${columns}, count(*) AS count, sum(greatest(dur, 0))::BIGINT AS total_ns, ` +
  `avg(greatest(dur, 0)) AS average_ns, min(dur) AS min_ns, max(dur) AS max_ns FROM ${from} GROUP BY ALL ORDER BY total_ns DESC`;

export const presets: readonly Preset[] = [
  { name: "slices", title: "table.slices", sql: totals("name, category", "slice") },
  {
    name: "operators",
    title: "table.operators",
    sql:
      "SELECT s.slice_id, s.name, s.ts, s.dur, f.scope, f.module, f.input_shapes, f.input_types " +
      "FROM framework_op f JOIN slice s USING (slice_id) ORDER BY s.dur DESC",
  },
  {
    name: "kernels",
    title: "table.kernels",
    sql:
      "SELECT task_id, slice_id, name, op_type, core, stream_id, ts, dur, wait_ns, step_id, input_shapes, output_shapes " +
      "FROM device_task WHERE core IS NOT NULL ORDER BY dur DESC",
  },
  {
    name: "kinds",
    title: "table.kinds",
    sql: totals("op_type, core, input_shapes", "device_task WHERE core IS NOT NULL"),
  },
  {
    name: "communication",
    title: "table.communication",
    sql:
      "SELECT slice_id, name, op_type, group_name, ts, dur, wait_ns, transit_ns, idle_ns, size_bytes, data_type, rank_size, step_id " +
      "FROM communication_op ORDER BY ts",
  },
  {
    name: "overlap",
    title: "table.overlap",
    sql: totals("s.name", "slice s JOIN track t USING (track_id) WHERE t.kind = 'overlap'"),
  },
  { name: "steps", title: "table.steps", sql: "SELECT * FROM step ORDER BY ts" },
  {
    name: "marks",
    title: "table.marks",
    sql: "SELECT mark_id, slice_id, message AS name, domain, kind, ts, dur FROM mark ORDER BY ts",
  },
  {
    name: "memory",
    title: "table.memory",
    sql:
      "SELECT owner_slice_id, coalesce(b.name, s.name) AS name, size_bytes, alloc_ts, free_ts, free_ts - alloc_ts AS life_ns, device_type, device_index, pointer " +
      "FROM memory_block b LEFT JOIN slice s ON s.slice_id = b.owner_slice_id ORDER BY size_bytes DESC",
  },
  {
    name: "counters",
    title: "table.counters",
    sql: "SELECT t.name, count(*) AS count, min(value) AS lowest, avg(value) AS mean, max(value) AS highest FROM counter JOIN track t USING (track_id) GROUP BY ALL ORDER BY t.name",
  },
  {
    name: "issues",
    title: "table.issues",
    sql: "SELECT severity, code, count, source, position, advice FROM import_issue",
  },
  { name: "metadata", title: "table.metadata", sql: "SELECT key, value FROM metadata ORDER BY key" },
];

/** The joins of presets hold within one trace: over several, the ids need its number beside them. */
export function forAllRanks(sql: string): string {
  return sql
    .replace("SELECT ", sql.includes(" JOIN ") ? "SELECT s.trace, s.rank, " : "SELECT trace, rank, ")
    .replaceAll("USING (slice_id)", "USING (trace, slice_id)")
    .replaceAll("JOIN track t USING (track_id)", "JOIN track t USING (trace, track_id)")
    .replace("s.slice_id = b.owner_slice_id", "s.trace = b.trace AND s.slice_id = b.owner_slice_id")
    .replace("SELECT s.trace, s.rank, t.name", "SELECT t.trace, t.rank, t.name")
    .replace("SELECT s.trace, s.rank, owner_slice_id", "SELECT b.trace, b.rank, owner_slice_id")
    .replace("SELECT trace, rank, *", "SELECT *");
}
