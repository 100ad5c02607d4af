/** What may follow the word before the caret. Pure. */
import type { SchemaTableMessage } from "../../api/messages";

const WORDS = [
  "SELECT",
  "FROM",
  "WHERE",
  "GROUP BY",
  "ORDER BY",
  "LIMIT",
  "JOIN",
  "USING",
  "count(*)",
  "sum(",
  "avg(",
  "DESC",
];

export function wordBefore(text: string, caret: number): string {
  return /[\w.]*$/.exec(text.slice(0, caret))![0];
}

export function complete(text: string, caret: number, schema: readonly SchemaTableMessage[]): string[] {
  const word = wordBefore(text, caret).toLowerCase();
  if (word.length < 2) return [];
  const used = schema.filter((table) => new RegExp(`\\b${table.name}\\b`, "i").test(text));
  const columns = (used.length > 0 ? used : schema).flatMap((table) => table.columns.map((column) => column.name));
  const afterFrom = /\b(from|join)\s+[\w.]*$/i.test(text.slice(0, caret));
  const all = afterFrom
    ? schema.map((table) => table.name)
    : [...columns, ...schema.map((table) => table.name), ...WORDS];
  return [...new Set(all)]
    .filter((name) => name.toLowerCase().startsWith(word) && name.toLowerCase() !== word)
    .sort((a, b) => a.length - b.length)
    .slice(0, 6);
}
