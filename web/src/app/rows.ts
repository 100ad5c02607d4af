/** Sorting and grouping of a table's rows. Pure. */
import type { Cell } from "../api/messages";

export type Row = readonly Cell[];

function compare(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** Stable; nulls first when ascending. */
export function sortRows(rows: readonly Row[], column: number, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return rows
    .map((row, at) => ({ row, at }))
    .sort((a, b) => sign * compare(a.row[column] ?? null, b.row[column] ?? null) || a.at - b.at)
    .map(({ row }) => row);
}

/** One row for each value of the column: its count, and sums of the columns that are numbers. The largest of
 * column `first` of the result come first. */
export function groupRows(rows: readonly Row[], column: number, isSum: readonly boolean[], first: number): Row[] {
  const groups = new Map<Cell, Cell[]>();
  for (const row of rows) {
    const key = row[column] ?? null;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = [key, 0, ...isSum.filter(Boolean).map(() => 0)]));
    group[1] = (group[1] as number) + 1;
    let at = 2;
    isSum.forEach((sum, i) => {
      if (sum) group[at] = (group[at++] as number) + (Number(row[i]) || 0);
    });
  }
  return sortRows([...groups.values()], first, true);
}

/** Groups are in the order of the first column of times or sizes that is summed, else of their counts. */
export function orderOfGroups(isSum: readonly boolean[], isMeasure: readonly boolean[]): number {
  const measure = isMeasure.indexOf(true);
  return measure < 0 ? 1 : 2 + isSum.slice(0, measure).filter(Boolean).length;
}
