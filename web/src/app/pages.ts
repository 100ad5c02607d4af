/** Statements for a part of a table that is too long to be held: filter, order, group and page are
 * done by the database. Pure. */
import type { ColumnMessage } from "../api/messages";

export const PAGE = 400;
/** Up to this many rows a table is held as a whole. */
export const WHOLE = 20_000;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The same as filterRows of rows.ts, as a condition; "" where there is nothing to fulfil. */
export function condition(columns: readonly ColumnMessage[], filter: string): string {
  const tests = filter.trim().split(/\s+/).filter(Boolean);
  return tests
    .map((word) => {
      const match = /^([\w()]+)(>=|<=|!=|=|>|<)(.+)$/.exec(word);
      const column = match ? columns.find((c) => c.name.toLowerCase() === match[1]!.toLowerCase()) : undefined;
      if (match && column) {
        const number = !Number.isNaN(Number(match[3])) && column.type !== "text";
        const left = number ? quoted(column.name) : `CAST(${quoted(column.name)} AS VARCHAR)`;
        return `${left} ${match[2] === "!=" ? "<>" : match[2]} ${number ? match[3] : literal(match[3]!)}`;
      }
      const any = columns.map(
        (c) => `contains(lower(CAST(${quoted(c.name)} AS VARCHAR)), ${literal(word.toLowerCase())})`,
      );
      return `(${any.map((test) => `coalesce(${test}, false)`).join(" OR ")})`;
    })
    .join(" AND ");
}

export interface Sort {
  column: number;
  descending: boolean;
}

/** A statement as a table of another one. */
export function inner(sql: string): string {
  return `(${sql.trim().replace(/;+\s*$/, "")}\n)`;
}

function wherePart(columns: readonly ColumnMessage[], filter: string): string {
  const test = condition(columns, filter);
  return test === "" ? "" : ` WHERE ${test}`;
}

export function countStatement(sql: string, columns: readonly ColumnMessage[], filter: string): string {
  return `SELECT count(*) FROM ${inner(sql)}${wherePart(columns, filter)}`;
}

/** All rows that are left, in their order: what an export writes. The other columns break ties, so
 * that pages fit together. */
export function rowsStatement(
  sql: string,
  columns: readonly ColumnMessage[],
  filter: string,
  sort: Sort | null,
  shown: readonly number[] | null = null,
): string {
  if (!sort && filter.trim() === "" && !shown) return sql;
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
  filter: string,
  by: number,
  sums: readonly boolean[],
  first: number,
): string {
  const totals = columns.flatMap((c, i) => (sums[i] ? [`sum(${quoted(c.name)}) AS ${quoted(c.name)}`] : []));
  const what = [quoted(columns[by]!.name), "count(*) AS count", ...totals].join(", ");
  return `SELECT ${what} FROM ${inner(sql)}${wherePart(columns, filter)} GROUP BY 1 ORDER BY ${first + 1} DESC NULLS LAST`;
}
