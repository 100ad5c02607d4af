/** What a column of any table holds, how it is called and how its cells are written. Pure. */
import type { Cell, ColumnMessage, ResultColumnMessage } from "../api/messages";
import {
  formatBytes,
  formatCount,
  formatDigits,
  formatDuration,
  formatMoment,
  formatNumber,
  formatShare,
} from "../base/format";
import type { Language } from "../i18n";
import { word } from "../i18n/words";

export type CellKind =
  "text" | "integer" | "real" | "digits" | "boolean" | "duration" | "bytes" | "share" | "percent" | "moment" | "hidden";

/** A column, with what its result declares of it. */
export type Column = ColumnMessage & Partial<ResultColumnMessage>;

/** By what is declared: times that are no measure are moments, numbers that are none are names. */
function declaredKind({ type, unit, role }: Column): CellKind {
  if (unit === "ns") return role === "measure" ? "duration" : "moment";
  if (unit === "bytes") return "bytes";
  if (unit === "%") return "percent";
  return role !== "measure" ? "text" : type === "integer" ? "integer" : "real";
}

/** Else units are in the names: _ns are durations, unless they are moments. */
export function kindOf(column: Column): CellKind {
  const { name, type, role } = column;
  if (role !== undefined && type !== "text") return declaredKind(column);
  if (/(^|_)ts$|^(start|end|peak|ts)_ns$/.test(name)) return "moment";
  if (type === "text" || type === "boolean") return type;
  if (/(^dur$|_ns$|^dur_|^total$|^self$|^average$)/.test(name)) return "duration";
  if (/bytes$/.test(name) || /^total_(allocated|reserved|active)$/.test(name)) return "bytes";
  if (/(^| )share$/.test(name)) return "share";
  if (/_percent$/.test(name)) return "percent";
  return type === "integer" ? (/(_id|^id|^pid|^tid|rank|pointer|^depth)$/.test(name) ? "text" : "integer") : "real";
}

/** Numbers that lead to the timeline, and mean nothing to people. */
export const isQuiet = ({ name, space }: Column) =>
  space === "slice" || /^((owner_|launch_)?slice_id|task_id|mark_id|pointer|request_id|trace)$/.test(name);

/** What a bar as wide as the cell stands for; 0 where the column has none: its measure is a part of something. */
export function barOf(column: Column, at: number, rows: readonly (readonly Cell[])[]): number {
  if (column.role !== "measure" || column.type === "text") return 0;
  if (column.unit === "%") return 100;
  let most = 0;
  for (const row of rows) {
    const value = Number(row[at] ?? 0);
    if (value < 0) return 0;
    most = Math.max(most, value);
  }
  return most;
}

/** Without the unit, which the cells have. */
export const labelOf = (language: Language, name: string) =>
  word(language, name.replace(/(_(ns|bytes|percent)| share)$/, "").replaceAll("_", " "));

/** `zero`: nanoseconds of the epoch that moments are counted from. */
export function cellText(kind: CellKind, cell: Cell, zero = 0n): string {
  if (cell === null) return "";
  if (kind === "moment" && /^-?\d+$/.test(String(cell))) return formatMoment(Number(BigInt(String(cell)) - zero));
  if (typeof cell !== "number" || kind === "text") return String(cell);
  // What had not ended when the recording did.
  if (kind === "duration") return cell === -1 ? "–" : formatDuration(cell);
  if (kind === "bytes") return formatBytes(cell);
  if (kind === "share") return formatShare(cell);
  if (kind === "percent") return formatShare(cell / 100);
  if (kind === "digits") return formatDigits(cell);
  if (kind === "integer") return Math.abs(cell) < 1e15 ? formatCount(cell) : String(cell);
  return formatNumber(cell);
}
