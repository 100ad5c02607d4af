/** What the operator view asks. Pure. */
import { equals } from "../../app/filter";

export const KEYS = {
  type: "op_type",
  core: "core",
  name: "name",
  shape: "name || '  ' || coalesce(input_shapes, '')",
} as const;

export type Key = keyof typeof KEYS;

/** The columns of tasks that have the value of a key. */
export const COLUMNS: Record<Key, readonly string[]> = {
  type: ["op_type"],
  core: ["core"],
  name: ["name"],
  shape: ["name", "input_shapes"],
};

/** A filter of tasks that keeps those of one value of the key. */
export function filterOf(key: Key, value: string): string {
  const parts = key === "shape" ? [value.split("  ")[0]!, value.split("  ").slice(1).join("  ")] : [value];
  return COLUMNS[key].map((column, i) => equals(column, parts[i]!)).join(" ");
}

/** Device time by a key; `core` beside it, where it is not the key itself. By type and core it equals the analysis
 * op_statistic. */
export function totalsStatement(key: Key): string {
  if (key === "type" || key === "core") {
    const more = key === "core" ? "" : ", string_agg(DISTINCT core, ' ' ORDER BY core) AS core";
    return (
      `SELECT ${key === "type" ? "op_type AS type" : "core"}${more}, sum(count)::BIGINT AS count, sum(total_ns)::BIGINT AS total_ns, ` +
      "sum(total_ns) / (SELECT sum(total_ns) FROM op_statistic) * 100.0 AS percent, sum(total_ns) / sum(count) AS average_ns, min(min_ns) AS min_ns, max(max_ns) AS max_ns " +
      "FROM op_statistic GROUP BY 1 ORDER BY total_ns DESC"
    );
  }
  return (
    `SELECT ${KEYS[key]} AS ${key}, string_agg(DISTINCT core, ' ') AS core, count(*) AS count, sum(dur)::BIGINT AS total_ns, ` +
    "sum(dur) / (SELECT sum(dur) FROM device_task WHERE core IS NOT NULL) * 100.0 AS percent, " +
    "avg(dur) AS average_ns, min(dur) AS min_ns, max(dur) AS max_ns, sum(wait_ns)::BIGINT AS wait_ns " +
    "FROM device_task WHERE core IS NOT NULL GROUP BY 1 ORDER BY total_ns DESC"
  );
}

/** Tasks with a column for each hardware counter. */
export function taskStatement(metrics: readonly string[]): string {
  const pmu = metrics
    .map(
      (m) =>
        `, max(CASE WHEN p.metric = '${m.replaceAll("'", "''")}' THEN p.value END) AS "${m.replaceAll('"', '""')}"`,
    )
    .join("");
  const columns =
    "t.slice_id, t.name, t.op_type, t.core, t.ts, t.dur, t.wait_ns, t.stream_id, t.block_num, t.input_shapes, t.input_types, t.output_shapes, t.step_id";
  if (pmu === "") return `SELECT ${columns} FROM device_task t WHERE core IS NOT NULL ORDER BY dur DESC`;
  return `SELECT ${columns}${pmu} FROM device_task t LEFT JOIN device_task_pmu p USING (task_id) WHERE core IS NOT NULL GROUP BY ALL ORDER BY dur DESC`;
}
