/** The rows of `sonde probe compare --store` by what the search for the first difference says of them. Pure. */
import type { Cell } from "../../api/messages";

/** The tables that the command writes, by what was compared. */
export const TABLES = ["precision_statistics", "precision_tensor", "precision_md5"] as const;
export type ValuesTable = (typeof TABLES)[number];

/** Of a trace's own tables the one with rows; undefined: it is no comparison of values. */
export const tableOf = (tables: readonly string[]): ValuesTable | undefined =>
  TABLES.find((name) => tables.includes(name));

/** How a row looks: where the runs differ, what comes behind it, what rounding explains, what nobody compared. */
export type Tone = "first" | "behind" | "rounding" | "open" | "equal";

const TONES: Readonly<Record<string, Tone>> = {
  "no difference": "equal",
  "rounding only": "rounding",
  "behind the first difference": "behind",
  "not compared": "open",
};

/** Null: the comparison looked for no cause. */
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

/** How many rows a choice of one cause leaves; "": all that differ. */
export const countOf = (counts: readonly CauseCount[], cause: string): number =>
  counts.reduce((sum, one) => sum + ((cause === "" ? one.tone !== "equal" : one.cause === cause) ? one.count : 0), 0);

/** Of each pair of ranks what it shows; that of the first difference comes first. */
export const findingsStatement =
  'SELECT step, rank, "row", first, cause, place, detail, evidence, advice, sentence FROM precision_finding ' +
  "ORDER BY first DESC, step, rank";

/** A column of numbers that both sides have: `npu_NAME` is the target's, `bench_NAME` the golden run's. */
const SIDES = ["max", "min", "mean", "l2norm"] as const;

const bothSides = SIDES.map((name) => `npu_${name} AS target_${name}, bench_${name} AS golden_${name}`).join(", ");

const NUMBERS: Readonly<Record<ValuesTable, string>> = {
  precision_statistics: `${bothSides}, norm_relative_err AS norm_err_pct`,
  precision_tensor: `cosine, euc_dist, max_abs_err, max_relative_err, ${bothSides}`,
  precision_md5: "npu_md5 AS target_md5, bench_md5 AS golden_md5",
};

/** Numbers that differ in their last digits are shown with them. */
export const DIGITS: ReadonlySet<string> = new Set([
  ...SIDES.flatMap((name) => [`target_${name}`, `golden_${name}`]),
  ...["norm_err_pct", "ratio", "explained", "cosine", "euc_dist", "max_abs_err", "max_relative_err"],
]);

/** Marks the row where the runs first differ, and names the column that has it. */
export const FIRST = "►";

const KEY = ["step", "rank", '"row"'] as const;

/** Whether a row is the one where the runs first differ; no row is where they do not. */
const IS_FIRST = KEY.map(
  (part) => `${part} = coalesce((SELECT max(${part}) FROM precision_finding WHERE first = 1), -1)`,
).join(" AND ");

/** `cause` "": all that differ. The first difference of all comes first; the others come as they were stored, which is
 * in the order of steps, ranks and calls: to order them again would cost a look at all rows for each page. */
export function rowsStatement(table: ValuesTable, cause: string): string {
  const kept =
    cause === ""
      ? "cause IS DISTINCT FROM 'no difference'"
      : `coalesce(cause, 'not compared') = '${cause.replaceAll("'", "''")}'`;
  const rows = (mark: string, where: string) =>
    `SELECT ${mark} AS "${FIRST}", cause, coalesce(nullif(npu_name, 'N/A'), bench_name) AS name, module, source, ` +
    `${KEY.join(", ")}, ratio, explained, ${NUMBERS[table]}, result AS reference, err_message ` +
    `FROM ${table} WHERE ${kept} AND ${where}`;
  return `${rows(`'${FIRST}'`, IS_FIRST)} UNION ALL ${rows("NULL", `NOT (${IS_FIRST})`)}`;
}

/** Step, rank and row: the key of a row of a comparison. */
export type RowKey = readonly [step: string, rank: string, row: string];

export const rowStatement = (table: ValuesTable, [step, rank, row]: RowKey) =>
  `SELECT * FROM ${table} WHERE step = ${Number(step)} AND rank = ${Number(rank)} AND "row" = ${Number(row)}`;

/** One line of the numbers of a row. */
export interface Pair {
  name: string;
  target: Cell;
  golden: Cell;
  difference?: Cell;
  /** In percent. */
  relative?: Cell;
}

/** Both sides of a row, line by line; lines that neither side has are left out. */
export function pairsOf(row: Readonly<Record<string, Cell>>): Pair[] {
  const pairs: Pair[] = [
    { name: "type", target: row["npu_dtype"] ?? null, golden: row["bench_dtype"] ?? null },
    { name: "shape", target: row["npu_tensor_shape"] ?? null, golden: row["bench_tensor_shape"] ?? null },
  ];
  // The value of an argument stands in the place of each number.
  const isArgument =
    /^<class/.test(String(row["npu_dtype"])) || SIDES.every((side) => (row[`npu_${side}`] ?? null) === null);
  if (isArgument) {
    pairs.push({ name: "value", target: row["npu_max_text"] ?? null, golden: row["bench_max_text"] ?? null });
  }
  for (const side of isArgument ? [] : SIDES) {
    const relative = { max: "max", min: "min", mean: "mean", l2norm: "norm" }[side];
    pairs.push({
      name: side,
      target: row[`npu_${side}`] ?? null,
      golden: row[`bench_${side}`] ?? null,
      difference: row[`${side}_diff`] ?? null,
      relative: row[`max_diff`] === undefined ? null : (row[`${relative}_relative_err`] ?? null),
    });
  }
  pairs.push({ name: "md5", target: row["npu_md5"] ?? null, golden: row["bench_md5"] ?? null });
  const isThere = (cell: Cell) => cell !== null && cell !== "N/A";
  return pairs.filter(({ target, golden }) => isThere(target) || isThere(golden));
}

const TENSOR = [
  "cosine",
  "euc_dist",
  "max_abs_err",
  "max_relative_err",
  "one_thousandth_err_ratio",
  "five_thousandths_err_ratio",
] as const;

/** Distances of two tensors, by name; none where statistics were compared. */
export const distancesOf = (row: Readonly<Record<string, Cell>>): [name: string, value: Cell][] =>
  row["cosine"] === undefined ? [] : TENSOR.map((name) => [name, row[name] ?? null]);
