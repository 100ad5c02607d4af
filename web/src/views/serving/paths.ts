/** Why requests took as long as they did: the results request_time, request_path and loop_pause. Pure. */
import type { TableMessage } from "../../api/messages";
import type { Language } from "../../i18n";
import type { Theme } from "../../theme/themes";
import type { Request } from "./requests";

const PARTS =
  "event_loop tokenizing hand_over queue prefill other_prefill preemption decode engine computing communication rank_wait processor major_faults compiling garbage_collection slow_step delivery unexplained";

/** Drawn anyway: the bars of a request are made of these. */
const USUAL = "('tokenizing', 'hand_over', 'queue', 'prefill', 'decode')";
const LEAST_NS = 1_000_000;
const LEAST_PAUSE_NS = 20_000_000;

const named = (language: Language, name: string) => (language === "zh" ? `${name}_zh` : name);

/** All requests with the reason of each and the parts of its time; what took no time in any is quiet. `missed`:
 * the condition of objectives (objectives.ts), by which the slow ones are found then. */
export function whyStatement(language: Language, missed: string | null = null): string {
  const parts = PARTS.split(" ").map((part) => `w.${part}_ns`);
  const isSlow = missed === null ? "w.is_slow" : `CASE WHEN ${missed} THEN 1 ELSE 0 END AS is_slow`;
  return (
    `SELECT r.slice_id, r.name, r.dur, w.client_ns, w.usual_ns, w.${named(language, "reason")} AS why, ${isSlow}, r.ts, ` +
    `r.ttft_ns, r.tpot_ns, ${parts.join(", ")}, r.prompt_tokens, r.cached_tokens, r.output_tokens, r.preemptions, ` +
    "r.finish_reason, r.is_whole, r.x_request_id, r.traceparent FROM request r LEFT JOIN request_time w USING (request_id) ORDER BY r.ts"
  );
}

/** Where a request waited for something unusual: what is drawn over its bars. */
export function waitStatement(base: string, language: Language): string {
  return (
    `SELECT request_id, part, ${named(language, "label")} AS label, start_ns - ${base} AS ts, dur_ns AS dur FROM request_path ` +
    `WHERE dur_ns >= ${LEAST_NS} AND part NOT IN ${USUAL} ORDER BY dur_ns DESC`
  );
}

export function pauseStatement(base: string): string {
  return `SELECT start_ns - ${base} AS ts, dur_ns AS dur FROM loop_pause WHERE dur_ns >= ${LEAST_PAUSE_NS} ORDER BY start_ns`;
}

/** The parts of a request's time, the largest first, each with its share and where its longest piece is. */
export function partsStatement(request: number, language: Language): string {
  return (
    `SELECT ${named(language, "label")} AS part, sum(dur_ns)::BIGINT AS dur, 100 * sum(dur_ns) / sum(sum(dur_ns)) OVER () AS share_percent, ` +
    "count(*) AS pieces, max(dur_ns) AS longest_ns, arg_max(start_ns, dur_ns) AS ts FROM request_path " +
    `WHERE request_id = ${request} GROUP BY 1 ORDER BY 2 DESC`
  );
}

export interface Wait {
  request: number;
  part: string;
  label: string;
  ts: number;
  dur: number;
}

export function waitsOf(table: TableMessage | null): Map<number, Wait[]> {
  const waits = new Map<number, Wait[]>();
  for (const [request, part, label, ts, dur] of table?.rows ?? []) {
    const wait = {
      request: Number(request),
      part: String(part),
      label: String(label),
      ts: Number(ts),
      dur: Number(dur),
    };
    const list = waits.get(wait.request);
    if (list) list.push(wait);
    else waits.set(wait.request, [wait]);
  }
  return waits;
}

export function colorOfPart(part: string, theme: Theme): string {
  if (part === "event_loop") return theme.warning;
  if (part === "delivery") return theme.accent;
  if (part === "other_prefill") return theme.lines[3]!;
  return part === "unexplained" ? theme.muted : theme.error;
}

/** The request that stands where this share of them is faster; null for none. */
export function requestAt(
  requests: readonly Request[],
  valueOf: (request: Request) => number | null,
  share: number,
): number | null {
  const known = requests.flatMap((request) => {
    const value = valueOf(request);
    return value === null ? [] : [{ id: request.id, value }];
  });
  known.sort((a, b) => a.value - b.value);
  return known[Math.ceil((known.length - 1) * share)]?.id ?? null;
}

/** What the median and the slowest engine step of each kind do; a row leads to the slowest. */
export function stepPartStatement(language: Language): string {
  const label =
    language === "zh"
      ? "CASE part WHEN 'all' THEN '全部' ELSE label_zh END"
      : "CASE part WHEN 'all' THEN 'all' ELSE label END";
  return (
    "SELECT (SELECT min(e.slice_id) FROM engine_step e WHERE e.step_id = p.slowest_step_id) AS slice_id, " +
    `kind, ${label} AS part, median_ns, slowest_ns, more_ns, median_step_id, slowest_step_id, median_tokens, slowest_tokens FROM engine_step_part p`
  );
}

export function stepSentenceStatement(language: Language): string {
  return `SELECT ${named(language, "label")} FROM engine_step_part WHERE part = 'all'`;
}
