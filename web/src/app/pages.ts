/** Statements for a part of a table that is too long to be held: filter, order, group and page are
 * done by the database. Pure. */
import type { ColumnMessage } from "../api/messages";
import { type Filter, condition } from "./filter";

export const PAGE = 400;
/** Up to this many rows a table is held as a whole. */
export const WHOLE = 20_000;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

export interface Sort {
  column: number;
  descending: boolean;
}

/** A statement as a table of another one. */
export function inner(sql: string): string {
  return `(${sql.trim().replace(/;+\s*$/, "")}\n)`;
}

function wherePart(columns: readonly ColumnMessage[], filter: Filter): string {
  const test = condition(columns, filter);
  return test === "" ? "" : ` WHERE ${test}`;
}

export function countStatement(sql: string, columns: readonly ColumnMessage[], filter: Filter): string {
  return `SELECT count(*) FROM ${inner(sql)}${wherePart(columns, filter)}`;
}

/** All rows that are left, in their order: what an export writes. The other columns break ties, so
 * that pages fit together. */
export function rowsStatement(
  sql: string,
  columns: readonly ColumnMessage[],
  filter: Filter,
  sort: Sort | null,
  shown: readonly number[] | null = null,
): string {
  if (!sort && filter.tests.length === 0 && !shown) return sql;
  const what = shown ? shown.map((i) => quoted(columns[i]!.name)).join(", ") : "*";
  const others = columns.map((_, i) => i).filter((i) => i !== sort?.column);
  const by = sort
    ? ` ORDER BY ${quoted(columns[sort.column]!.name)} ${sort.descending ? "DESC NULLS LAST" : "ASC NULLS FIRST"}${others
        .slice(0, 4)
        .map((i) => `, ${quoted(columns[i]!.name)}`)
        .join("")}`
    : "";
  return `SELECT ${what} FROM ${inner(sql)}${wherePart(columns, filter)}${by}`;
}

export function pageStatement(rows: string, page: number): string {
  return `SELECT * FROM ${inner(rows)} LIMIT ${PAGE} OFFSET ${page * PAGE}`;
}

/** One row for each value of a column: its count, and sums of those marked; the largest of column `first`
 * (0 the value, 1 the count, then the sums) come first. */
export function groupStatement(
  sql: string,
  columns: readonly ColumnMessage[],
  filter: Filter,
  by: number,
  sums: readonly boolean[],
  first: number,
): string {
  const totals = columns.flatMap((c, i) => (sums[i] ? [`sum(${quoted(c.name)}) AS ${quoted(c.name)}`] : []));
  const what = [quoted(columns[by]!.name), "count(*) AS count", ...totals].join(", ");
  return `SELECT ${what} FROM ${inner(sql)}${wherePart(columns, filter)} GROUP BY 1 ORDER BY ${first + 1} DESC NULLS LAST`;
}
