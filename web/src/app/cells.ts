/** What a column of any table holds, how it is called and how its cells are written. Pure. */
import type { Cell, ColumnMessage } from "../api/messages";
import { formatBytes, formatCount, formatDuration, formatMoment, formatNumber, formatShare } from "../base/format";
import type { Language } from "../i18n";
import { word } from "../i18n/words";

export type CellKind = "text" | "integer" | "real" | "boolean" | "duration" | "bytes" | "share" | "moment" | "hidden";

/** Units are in the names: _ns are durations, unless they are moments. */
export function kindOf({ name, type }: Pick<ColumnMessage, "name" | "type">): CellKind {
  if (/(^|_)ts$|^(start|end|peak|ts)_ns$/.test(name)) return "moment";
  if (type === "text" || type === "boolean") return type;
  if (/(^dur$|_ns$|^dur_|^total$|^self$|^average$)/.test(name)) return "duration";
  if (/bytes$/.test(name) || /^total_(allocated|reserved|active)$/.test(name)) return "bytes";
  if (/(^| )share$/.test(name)) return "share";
  return type === "integer" ? (/(_id|^id|^pid|^tid|rank|pointer|^depth)$/.test(name) ? "text" : "integer") : "real";
}

/** Numbers that lead to the timeline, and say nothing to people. */
export const isQuiet = (name: string) =>
  /^((owner_|launch_)?slice_id|task_id|mark_id|pointer|request_id|trace)$/.test(name);

/** Without the unit, which the cells have. */
export const labelOf = (language: Language, name: string) =>
  word(language, name.replace(/(_(ns|bytes)| share)$/, "").replaceAll("_", " "));

/** `zero`: nanoseconds of the epoch that moments are counted from. */
export function cellText(kind: CellKind, cell: Cell, zero = 0n): string {
  if (cell === null) return "";
  if (kind === "moment" && /^-?\d+$/.test(String(cell))) return formatMoment(Number(BigInt(String(cell)) - zero));
  if (typeof cell !== "number" || kind === "text") return String(cell);
  // What had not ended when the recording did.
  if (kind === "duration") return cell === -1 ? "–" : formatDuration(cell);
  if (kind === "bytes") return formatBytes(cell);
  if (kind === "share") return formatShare(cell);
  if (kind === "integer") return Math.abs(cell) < 1e15 ? formatCount(cell) : String(cell);
  return formatNumber(cell);
}
