/** Where the time of each step of each rank went, from the table of the mode cluster_time_summary. Pure. */
import type { Cell, ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

/** What can be shown of a step, and its column. */
export const MEASURES = {
  step: "step_ns",
  computing: "computing_ns",
  exposed: "not_overlapped_ns",
  wait: "wait_ns",
  free: "free_ns",
} as const;
export type Measure = keyof typeof MEASURES;

export interface Times {
  ranks: number[];
  /** -1: of a trace without steps. */
  steps: number[];
  /** The row of a rank and a step. */
  row: (rank: number, step: number) => readonly Cell[] | undefined;
}

export function timesOf(table: ClusterTableMessage): Times {
  const rank = columnOf(table, "rank");
  const step = columnOf(table, "step_id");
  const rows = new Map<string, readonly Cell[]>();
  const ranks = new Set<number>();
  const steps = new Set<number>();
  for (const row of table.rows) {
    rows.set(`${String(row[rank])} ${String(row[step])}`, row);
    ranks.add(Number(row[rank]));
    steps.add(Number(row[step]));
  }
  const ordered = (numbers: Set<number>) => [...numbers].sort((a, b) => a - b);
  return { ranks: ordered(ranks), steps: ordered(steps), row: (r, s) => rows.get(`${r} ${s}`) };
}

/** The values of a measure by rank and step, NaN where there is none. */
export function valuesOf(table: ClusterTableMessage, times: Times, measure: Measure): number[][] {
  const at = columnOf(table, MEASURES[measure]);
  return times.ranks.map((rank) =>
    times.steps.map((step) => {
      const cell = times.row(rank, step)?.[at];
      return typeof cell === "number" ? cell : Number.NaN;
    }),
  );
}

/** How much more than the median rank of the same step. */
export function aboveMedian(values: readonly number[][]): number[][] {
  const medians = (values[0] ?? []).map((_, step) => {
    const own = values
      .map((row) => row[step]!)
      .filter(Number.isFinite)
      .sort((a, b) => a - b);
    return own[Math.floor((own.length - 1) / 2)] ?? Number.NaN;
  });
  return values.map((row) => row.map((value, step) => value - medians[step]!));
}

/** Places of the ranks, the largest mean first. */
export function byMean(values: readonly number[][]): number[] {
  const means = values.map((row) => {
    const own = row.filter(Number.isFinite);
    return own.reduce((sum, value) => sum + value, 0) / Math.max(1, own.length);
  });
  return values.map((_, at) => at).sort((a, b) => means[b]! - means[a]! || a - b);
}

/** The ends of the colours. Differences of a hundredth of the largest and less are no news: then from zero. */
export function rangeOf(values: readonly number[][]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const row of values) {
    for (const value of row) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [0, 1];
  return low >= 0 && high - low <= 0.01 * high ? [0, high] : [low, high];
}
