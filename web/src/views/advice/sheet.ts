/** Rows that show an advice, as they are written on the page. Pure. */
import type { Cell, RuleSheetMessage } from "../../api/messages";
import { formatBytes, formatDuration, formatNumber, formatShare } from "../../base/format";
import type { Language } from "../../i18n";
import { word } from "../../i18n/words";

/** Units that stand in the names of columns, in nanoseconds. */
const TIMES: Readonly<Record<string, number>> = { us: 1e3, ms: 1e6, s: 1e9 };

export interface SheetColumn {
  label: string;
  isNumber: boolean;
  text: (cell: Cell) => string;
}

const plain = (cell: Cell) =>
  cell === null ? "" : typeof cell === "number" && !Number.isInteger(cell) ? formatNumber(cell) : String(cell);

/** "duration(us)": the cells have the unit, and the name is that of the language. */
export function columnOf(name: string, at: number, sheet: RuleSheetMessage, language: Language): SheetColumn {
  const [, bare = name, unit = ""] = /^(.*?)\s*\(([^()]*)\)$/.exec(name) ?? [];
  const isNumber = sheet.rows.every((row) => row[at] === null || typeof row[at] === "number");
  const factor = isNumber ? TIMES[unit] : undefined;
  const isShare = isNumber && unit === "%";
  const translated = word(language, bare.toLowerCase().replaceAll("_", " "));
  const isKnown = translated !== bare.toLowerCase().replaceAll("_", " ");
  const taken = factor !== undefined || isShare || unit === "";
  const written = (cell: Cell) => {
    if (typeof cell !== "number") return plain(cell);
    if (factor !== undefined) return formatDuration(cell * factor);
    if (bare === "bytes") return formatBytes(cell);
    return isShare ? formatShare(cell / 100) : plain(cell);
  };
  return { label: `${isKnown ? translated : bare}${taken ? "" : ` (${unit})`}`, isNumber, text: written };
}

export const columnsOf = (sheet: RuleSheetMessage, language: Language): SheetColumn[] =>
  sheet.columns.map((name, at) => columnOf(name, at, sheet, language));
