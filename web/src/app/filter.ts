/** What the filter of a table means, for rows that are held and for statements alike. Pure.
 *
 * Words, and "words in quotes", must be somewhere in the row; column>1ms compares one column, in the units that
 * the table shows. What is not understood is named, not left out in silence. */
import type { Cell, ColumnMessage } from "../api/messages";
import type { TextKey } from "../i18n";
import { type CellKind, type Column, kindOf } from "./cells";

type Operator = ">" | "<" | ">=" | "<=" | "=" | "!=";

export type Test =
  | { text: string; bare: boolean }
  | { column: number; name: string; operator: Operator; value: number | bigint | boolean | string; bare: boolean };

// `bare`: given in quotes, so that quotes of the cell do not count.

export interface Filter {
  tests: Test[];
  /** What was not understood: a text and its values. */
  problems: [TextKey, ...string[]][];
}

export const NO_FILTER: Filter = { tests: [], problems: [] };

const TIMES: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9 };
const BYTES: Record<string, number> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 };
const UNITS: Partial<Record<CellKind, Record<string, number>>> = {
  duration: TIMES,
  moment: TIMES,
  bytes: BYTES,
  share: { "%": 0.01 },
  real: { "%": 1 },
  percent: { "%": 1 },
};

/** "dur > 1 ms" is one word. */
function wordsOf(text: string): string[] {
  const joined = text
    .replace(/([\p{L}\p{N}_)])\s*(>=|<=|!=|=|>|<)\s+(?=\S)/gu, "$1$2")
    .replace(/([\p{L}\p{N}_)])\s+(>=|<=|!=|=|>|<)(?=\S)/gu, "$1$2")
    .replace(/([<>=]-?[\d.]+)\s+(ns|us|µs|ms|s|min|b|[kmg]i?b|%)(?=\s|$)/gi, "$1$2");
  return joined.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
}

const unquoted = (text: string) => text.replaceAll('"', "");

/** A filter that keeps the rows whose column has this very text; "" stands for no value, too. */
export const equals = (column: string, value: string) => `${column}="${unquoted(value)}"`;

function columnNamed(columns: readonly ColumnMessage[], wanted: string): number {
  const low = wanted.toLowerCase();
  const exact = columns.findIndex((column) => column.name.toLowerCase() === low);
  // As the table heads it: without the unit.
  return exact >= 0
    ? exact
    : columns.findIndex((c) => c.name.toLowerCase().replace(/_(ns|bytes|percent)$/, "") === low);
}

/** `zero`: what moments with a unit are counted from. */
function valueOf(column: Column, text: string, zero: bigint): number | bigint | boolean | string | null {
  if (column.type === "text" || text === '""') return unquoted(text);
  if (column.type === "boolean") return /^(true|false)$/i.test(text) ? text.toLowerCase() === "true" : null;
  const match = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)([a-zµ%]*)$/i.exec(unquoted(text));
  if (!match) return null;
  const kind = kindOf(column);
  const unit = match[2]!.toLowerCase();
  if (unit === "") return /^-?\d{16,}$/.test(match[1]!) ? BigInt(match[1]!) : Number(match[1]);
  const size = UNITS[kind]?.[unit];
  if (size === undefined) return null;
  return kind === "moment" ? zero + BigInt(Math.round(Number(match[1]) * size)) : Number(match[1]) * size;
}

export function parseFilter(columns: readonly Column[], text: string, zero = 0n): Filter {
  const filter: Filter = { tests: [], problems: [] };
  for (const word of wordsOf(text)) {
    const bare = word.includes('"');
    const match = /^([\p{L}_][\p{L}\p{N}_()]*)(>=|<=|!=|=|>|<)(.*)$/u.exec(word);
    if (!match) {
      filter.tests.push({ text: unquoted(word).toLowerCase(), bare });
      continue;
    }
    const [, name, operator, given] = match as unknown as [string, string, Operator, string];
    const at = columnNamed(columns, name);
    const column = columns[at];
    if (!column) {
      filter.problems.push(["filter.nocolumn", name, word]);
      continue;
    }
    const value = given === "" ? null : valueOf(column, given, zero);
    const units = Object.keys(UNITS[kindOf(column)] ?? {}).join(" ");
    if (value === null) filter.problems.push([units ? "filter.nounit" : "filter.novalue", given, column.name, units]);
    else if ((typeof value === "string" || typeof value === "boolean") && operator !== "=" && operator !== "!=") {
      filter.problems.push(["filter.notext", column.name]);
    } else filter.tests.push({ column: at, name: column.name, operator, value, bare });
  }
  return filter;
}

const textOf = (cell: Cell, bare: boolean) => (bare ? unquoted(String(cell)) : String(cell));

function compare(cell: Cell, value: number | bigint | boolean | string, bare: boolean): number {
  // Large integers travel as texts.
  const number = (text: string) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text));
  const own = typeof value === "string" ? textOf(cell, bare) : typeof cell === "string" ? number(cell) : cell!;
  return own < value ? -1 : own > value ? 1 : 0;
}

const HOLDS: Record<Operator, (order: number) => boolean> = {
  ">": (o) => o > 0,
  "<": (o) => o < 0,
  ">=": (o) => o >= 0,
  "<=": (o) => o <= 0,
  "=": (o) => o === 0,
  "!=": (o) => o !== 0,
};

export function keeps(filter: Filter, row: readonly Cell[]): boolean {
  return filter.tests.every((test) => {
    if ("text" in test)
      return row.some((cell) => cell !== null && textOf(cell, test.bare).toLowerCase().includes(test.text));
    const cell = row[test.column] ?? null;
    if (test.value === "") return (cell === null || cell === "") === (test.operator === "=");
    return cell !== null && HOLDS[test.operator](compare(cell, test.value, test.bare));
  });
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The same as a condition of SQL; "" where there is nothing to fulfil. */
export function condition(columns: readonly ColumnMessage[], filter: Filter): string {
  return filter.tests
    .map((test) => {
      const text = (column: string) => {
        const cell = `CAST(${quoted(column)} AS VARCHAR)`;
        return test.bare ? `replace(${cell}, '"', '')` : cell;
      };
      if ("text" in test) {
        const any = columns.map((c) => `contains(lower(${text(c.name)}), ${literal(test.text)})`);
        return `(${any.map((one) => `coalesce(${one}, false)`).join(" OR ")})`;
      }
      if (test.value === "") {
        const empty = `coalesce(${text(test.name)}, '') = ''`;
        return test.operator === "=" ? empty : `NOT ${empty}`;
      }
      const isText = typeof test.value === "string";
      const left = isText ? text(test.name) : quoted(test.name);
      const right = isText ? literal(test.value as string) : String(test.value);
      return `${left} ${test.operator === "!=" ? "<>" : test.operator} ${right}`;
    })
    .join(" AND ");
}
