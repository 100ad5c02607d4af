/** The rows of `sonde probe compare --store` by what the search for the first difference says of them. Pure. */
import type { Cell } from "../../api/messages";

/** The tables that the command writes, by what was compared. */
export const TABLES = ["precision_statistics", "precision_tensor", "precision_md5"] as const;
export type ValuesTable = (typeof TABLES)[number];

/** How a row looks: where the runs differ, what comes behind it, what rounding explains, what nobody compared. */
export type Tone = "first" | "behind" | "rounding" | "open" | "equal";

const TONES: Readonly<Record<string, Tone>> = {
  "no difference": "equal",
  "rounding only": "rounding",
  "behind the first difference": "behind",
  "not compared": "open",
};

/** Null: a row that only the golden run has. */
export const toneOf = (cause: Cell): Tone => (cause === null ? "open" : (TONES[String(cause)] ?? "first"));

export interface CauseCount {
  cause: string;
  tone: Tone;
  count: number;
}

export const countsStatement = (table: ValuesTable) =>
  `SELECT coalesce(cause, 'not compared') AS cause, count(*) AS count FROM ${table} GROUP BY ALL`;

const ORDER: readonly Tone[] = ["first", "behind", "rounding", "open", "equal"];

export function countsOf(rows: readonly (readonly Cell[])[]): CauseCount[] {
  return rows
    .map(([cause, count]) => ({ cause: String(cause), tone: toneOf(cause ?? null), count: Number(count) }))
    .sort((a, b) => ORDER.indexOf(a.tone) - ORDER.indexOf(b.tone) || b.count - a.count);
}

const NUMBERS: Readonly<Record<ValuesTable, string>> = {
  precision_statistics:
    "npu_max, bench_max, npu_min, bench_min, npu_mean, bench_mean, npu_l2norm, bench_l2norm, norm_relative_err",
  precision_tensor: "cosine, euc_dist, max_abs_err, max_relative_err, npu_max, bench_max, npu_mean, bench_mean",
  precision_md5: "npu_md5, bench_md5",
};

/** `cause` "": all that differ. The finding stands where the run meets it, in order of steps, ranks and calls. */
export function rowsStatement(table: ValuesTable, cause: string): string {
  const kept =
    cause === ""
      ? "cause IS DISTINCT FROM 'no difference'"
      : `coalesce(cause, 'not compared') = '${cause.replaceAll("'", "''")}'`;
  return (
    `SELECT cause, step, rank, "row", npu_name AS name, module, ratio, explained, ${NUMBERS[table]}, ` +
    `result AS reference, err_message FROM ${table} WHERE ${kept} ORDER BY step, rank, "row"`
  );
}
