/** What the memory view asks. Pure. */

const POINTS = 1500;

/** The highest value in each of 1500 parts of time, by owner of the memory. */
export function curveStatement(): string {
  const part = `(ts - (SELECT min(ts) FROM memory_event)) * ${POINTS} // greatest((SELECT max(ts) - min(ts) + 1 FROM memory_event), 1)`;
  return (
    `SELECT coalesce(component, '') AS owner, ${part} AS part, min(ts) AS ts, max(total_allocated) AS allocated, ` +
    `max(total_reserved) AS reserved, max(total_active) AS active FROM memory_event GROUP BY 1, 2 ORDER BY 1, 2`
  );
}

/** Nanoseconds of the epoch as text. */
export type Range = [string, string] | null;

const alive = (range: Range) =>
  range ? ` WHERE coalesce(alloc_ts, 0) <= ${range[1]} AND coalesce(free_ts, 9223372036854775807) >= ${range[0]}` : "";

const from =
  " FROM memory_block b LEFT JOIN slice s ON s.slice_id = b.owner_slice_id LEFT JOIN framework_op f ON f.slice_id = b.owner_slice_id";

/** Blocks that live at some moment of the range. */
export function blockStatement(range: Range): string {
  return (
    "SELECT b.owner_slice_id, coalesce(b.name, s.name) AS name, f.module, size_bytes, alloc_ts, free_ts, free_ts - alloc_ts AS life_ns, pointer" +
    `${from}${alive(range)} ORDER BY size_bytes DESC`
  );
}

/** Their bytes by module or by operator. */
export function ownerStatement(range: Range, by: "module" | "op"): string {
  const owner = by === "module" ? "coalesce(f.module, '')" : "coalesce(b.name, s.name, '')";
  return `SELECT ${owner} AS owner, sum(size_bytes)::BIGINT AS bytes, count(*) AS blocks${from}${alive(range)} GROUP BY 1 ORDER BY 2 DESC LIMIT 40`;
}
