/** What a user wants of the requests of a server, as `sonde analyse --slo` takes it. Pure. */
import type { Language } from "../../i18n";

/** Columns of request_time by the name of an objective. */
const COLUMNS = { ttft: "ttft_ns", itl: "longest_pause_ns", e2e: "client_ns" } as const;
const UNITS = { s: 1e9, ms: 1e6, us: 1e3 } as const;

/** The condition of a missed objective for the columns of `w`; null for none, or for a text that is not valid. */
export function missedBy(text: string): string | null {
  const missed = text.split(",").map((item) => {
    const [, name, number, unit] = /^\s*(ttft|itl|e2e)\s*=\s*(\d+(?:\.\d+)?)\s*(s|ms|us)\s*$/.exec(item) ?? [];
    if (!name || !unit) return null;
    const limit = Math.round(Number(number) * UNITS[unit as keyof typeof UNITS]);
    return limit >= 1 && limit <= 1e15 ? `w.${COLUMNS[name as keyof typeof COLUMNS]} > ${limit}` : null;
  });
  return missed.includes(null) ? null : `(${missed.join(" OR ")})`;
}

/** Of the requests that miss an objective: how many for each reason, and of how many whole ones. */
export function missedStatement(missed: string, language: Language): string {
  const label = language === "zh" ? "label_zh" : "label";
  return (
    `SELECT any_value(p.label) AS reason, count(*) AS missed, (SELECT count(*) FROM request_time) AS whole FROM request_time w ` +
    `LEFT JOIN (SELECT DISTINCT part, ${label} AS label FROM request_path) p ON p.part = w.why WHERE ${missed} GROUP BY w.why ORDER BY 2 DESC`
  );
}
