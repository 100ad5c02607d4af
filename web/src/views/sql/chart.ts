/** A result as a chart. Pure. */
import type { TableMessage } from "../../api/messages";

export type ChartKind = "line" | "dots" | "bars";

export interface Series {
  name: string;
  points: [number, number][];
}

/** A bar for each text. */
export interface LabelChart {
  labels: [string, number][];
  /** The column of the texts. */
  label: string;
  /** The column that is drawn, and those that could be. */
  value: string;
  values: string[];
}

export interface SeriesChart {
  series: Series[];
  /** The column of the horizontal axis; "" for the rows' numbers. */
  x: string;
}

const MOST = 5000;
const LABELS = 60;

function isNumeric(table: TableMessage, column: number): boolean {
  const { type } = table.columns[column]!;
  if (type === "integer" || type === "real") return true;
  // Large integers travel as texts.
  return (
    table.rows.length > 0 && table.rows.every((row) => row[column] === null || /^-?\d+$/.test(String(row[column])))
  );
}

/** How many of the rows a chart shows, where that is not all of them; else 0. */
export function partOf(table: TableMessage, drawn: NonNullable<ReturnType<typeof chartOf>>): number {
  const most = "labels" in drawn ? LABELS : MOST;
  return table.rows.length > most || !table.complete ? Math.min(most, table.rows.length) : 0;
}

/** Bars by a text and a number (`value`, else the first); else each number over the first one, or over the row
 * where there is one only. Null where there is no number. */
export function chartOf(table: TableMessage, kind: ChartKind, value = ""): LabelChart | SeriesChart | null {
  const numbers = table.columns.flatMap((_, i) => (isNumeric(table, i) ? [i] : []));
  const label = table.columns.findIndex((_, i) => !numbers.includes(i));
  if (numbers.length === 0) return null;
  const rows = table.rows.slice(0, MOST);
  if (kind === "bars" && label >= 0) {
    const values = numbers.map((i) => table.columns[i]!.name);
    const at = Math.max(0, values.indexOf(value));
    const labels = rows
      .slice(0, LABELS)
      .map((row): [string, number] => [String(row[label] ?? ""), Number(row[numbers[at]!] ?? 0)]);
    return { labels, label: table.columns[label]!.name, value: values[at]!, values };
  }
  const [x, ...rest] = numbers as [number, ...number[]];
  if (rest.length === 0) {
    return {
      x: "",
      series: [{ name: table.columns[x]!.name, points: rows.map((row, i) => [i, Number(row[x] ?? 0)]) }],
    };
  }
  // Moments of 19 digits are drawn after the first of them.
  const first = rows.reduce((least, row) => Math.min(least, Number(row[x] ?? Infinity)), Infinity);
  const zero = first > 2 ** 53 ? first : 0;
  return {
    x: table.columns[x]!.name,
    series: rest.slice(0, 5).map((y) => ({
      name: table.columns[y]!.name,
      points: rows
        .filter((row) => row[x] !== null && row[y] !== null)
        .map((row): [number, number] => [Number(row[x]) - zero, Number(row[y])])
        .sort((a, b) => a[0] - b[0]),
    })),
  };
}
