/** Requests of a server and what is counted of them. Times: nanoseconds after the session's base. Pure. */
import type { Cell, TableMessage } from "../../api/messages";

export interface Request {
  id: number;
  name: string;
  engine: number;
  slice: number | null;
  ts: number;
  /** Its end, or the last that is known of it. */
  end: number;
  ended: boolean;
  /** The engine took it into its queue. */
  queued: number | null;
  scheduled: number | null;
  first: number | null;
  last: number | null;
  ttft: number | null;
  tpot: number | null;
  prompt: number | null;
  cached: number | null;
  output: number;
  preemptions: number;
  reason: string;
  /** Headers by which its client finds it again; "" for none. */
  clientId: string;
  traceparent: string;
  /** Moments at which tokens were given out. */
  tokens: number[];
}

/** Moments are asked for after `base`, so that they are exact numbers. */
export function requestStatement(base: string): string {
  const at = (name: string) => `${name} - ${base} AS ${name}`;
  // Its own span, among those of all requests; else what served it in the front-end.
  const own =
    "(SELECT s.name, s.ts, min(s.slice_id) AS own FROM slice s JOIN track t USING (track_id) WHERE t.name = 'Requests' AND s.depth = 0 GROUP BY ALL)";
  return (
    `SELECT request_id, name, engine, coalesce(own, slice_id) AS slice_id, ${at("ts")}, dur, ${at("queued_ts")}, ${at("scheduled_ts")}, ${at("first_token_ts")}, ` +
    `${at("last_token_ts")}, ttft_ns, tpot_ns, prompt_tokens, cached_tokens, output_tokens, preemptions, finish_reason, x_request_id, traceparent FROM request LEFT JOIN ${own} USING (name, ts) ORDER BY ts, request_id`
  );
}

export function tokenStatement(base: string): string {
  return `SELECT request_id, coalesce(sent_ts, output_ts) - ${base} AS at FROM request_step WHERE output_tokens > 0 AND coalesce(sent_ts, output_ts) IS NOT NULL ORDER BY 1, 2`;
}

export function stepStatement(base: string): string {
  return (
    `SELECT step_id, engine, slice_id, ts - ${base} AS ts, dur, prefill_requests, prefill_tokens, decode_requests, decode_tokens, ` +
    "running_requests, waiting_requests, kv_cache_usage, output_tokens, preempted_requests FROM engine_step ORDER BY ts"
  );
}

/** A request's part in each engine step. */
export function partStatement(request: number): string {
  return (
    "SELECT e.slice_id, p.step_id, p.phase, p.tokens, p.output_tokens, e.ts, e.dur, e.prefill_requests, e.decode_requests, " +
    "e.prefill_tokens, e.decode_tokens, e.waiting_requests, e.kv_cache_usage FROM request_step p JOIN engine_step e USING (step_id, engine) " +
    `WHERE p.request_id = ${request} ORDER BY e.ts`
  );
}

/** Requests whose prompts were computed while this one waited for its next token, and how long those steps took. */
export function othersStatement(request: number): string {
  return (
    "SELECT o.request_id, any_value(n.name) AS name, sum(e.dur)::BIGINT AS dur, sum(o.tokens)::BIGINT AS tokens FROM request r " +
    "JOIN engine_step e ON e.engine = r.engine AND e.ts >= r.first_token_ts AND e.ts < r.last_token_ts " +
    "JOIN request_step o ON o.engine = e.engine AND o.step_id = e.step_id AND o.phase = 'prefill' AND o.request_id <> r.request_id " +
    `JOIN request n ON n.request_id = o.request_id WHERE r.request_id = ${request} GROUP BY 1 ORDER BY 3 DESC LIMIT 20`
  );
}

/** Where a step ran on each rank, and the operators in it that took longest. */
export function rankStepStatement(step: number): string {
  return (
    "SELECT s.rank, s.slice_id, s.ts, s.dur, count(o.slice_id) AS operators FROM step s LEFT JOIN slice o ON o.parent_id = s.slice_id " +
    `WHERE s.step_id = ${step} GROUP BY ALL ORDER BY s.rank`
  );
}

export function rankOperatorStatement(step: number): string {
  return (
    "SELECT t.rank, d.slice_id, d.name, d.ts, d.dur, d.input_shapes FROM step t JOIN device_task d ON d.ts >= t.ts AND d.ts < t.ts + t.dur " +
    `AND d.process_id = t.process_id WHERE t.step_id = ${step} AND d.core IS NOT NULL ORDER BY d.dur DESC`
  );
}

const number = (cell: Cell | undefined): number | null => (cell === null || cell === undefined ? null : Number(cell));

export function requestsOf(table: TableMessage, tokens: TableMessage | null): Request[] {
  const given = new Map<number, number[]>();
  for (const row of tokens?.rows ?? []) {
    const id = Number(row[0]);
    const list = given.get(id);
    if (list) list.push(Number(row[1]));
    else given.set(id, [Number(row[1])]);
  }
  return table.rows.map((row) => {
    const at = (name: string) => row[table.columns.findIndex((column) => column.name === name)];
    const id = Number(at("request_id"));
    const own = given.get(id) ?? [];
    const [scheduled, first] = [number(at("scheduled_ts")), number(at("first_token_ts"))];
    // Of a request that had arrived before the recording began, the first that is known of it.
    const ts = Math.min(Number(at("ts")), ...[scheduled, first, own[0] ?? null].filter((x) => x !== null));
    const dur = number(at("dur"));
    const ended = dur !== null && dur >= 0;
    const last = number(at("last_token_ts"));
    return {
      id,
      name: String(at("name") ?? id),
      engine: number(at("engine")) ?? 0,
      slice: number(at("slice_id")),
      ts,
      end: ended ? Number(at("ts")) + dur : Math.max(ts, last ?? ts, own.at(-1) ?? ts),
      ended,
      queued: number(at("queued_ts")),
      scheduled,
      first,
      last,
      ttft: number(at("ttft_ns")),
      tpot: number(at("tpot_ns")),
      prompt: number(at("prompt_tokens")),
      cached: number(at("cached_tokens")),
      output: number(at("output_tokens")) ?? own.length,
      preemptions: number(at("preemptions")) ?? 0,
      reason: String(at("finish_reason") ?? ""),
      clientId: String(at("x_request_id") ?? ""),
      traceparent: String(at("traceparent") ?? ""),
      tokens: own,
    };
  });
}

/** Times between tokens of the same request. */
export function interTokenTimes(requests: readonly Request[]): number[] {
  return requests.flatMap((request) => request.tokens.slice(1).map((at, i) => at - request.tokens[i]!));
}

/** By linear interpolation, as NumPy has it. NaN for nothing. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  return sorted[low]! + (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!) * (at - low);
}

/** How many values fall into each of `parts` equal parts: [middle, count]. A single value stands in the
 * middle, with as much room at each side as it is large. */
export function histogram(values: readonly number[], parts: number): [number, number][] {
  if (values.length === 0) return [];
  let low = values.reduce((a, b) => Math.min(a, b));
  let high = values.reduce((a, b) => Math.max(a, b));
  if (low === high) [low, high] = [low - (Math.abs(low) || 1), high + (Math.abs(high) || 1)];
  const size = (high - low) / parts;
  const counts = new Array<number>(parts).fill(0);
  for (const value of values) counts[Math.min(parts - 1, Math.floor((value - low) / size))]! += 1;
  return counts.map((count, i) => [low + (i + 0.5) * size, count]);
}

/** Output tokens a second from the first arrival to the last token. */
export function tokenRate(requests: readonly Request[]): number {
  if (requests.length === 0) return 0;
  const from = Math.min(...requests.map((request) => request.ts));
  const to = Math.max(...requests.map((request) => request.end));
  const tokens = requests.reduce((sum, request) => sum + request.output, 0);
  return to > from ? (tokens / (to - from)) * 1e9 : 0;
}
