/** What is measured of requests, at once and over time. Times: nanoseconds. Pure. */
import type { TableMessage } from "../../api/messages";
import { type Request, interTokenTimes, percentile } from "./requests";

export const MEASURES = ["TTFT", "TPOT", "ITL", "E2E"] as const;
export type Measure = (typeof MEASURES)[number];
export type Point = [number, number];

export function valuesOf(requests: readonly Request[], measure: Measure): number[] {
  const known = (values: (number | null)[]) => values.filter((value) => value !== null);
  if (measure === "TTFT") return known(requests.map((request) => request.ttft));
  if (measure === "TPOT") return known(requests.map((request) => request.tpot));
  if (measure === "ITL") return interTokenTimes(requests);
  return requests.filter((request) => request.ended).map((request) => request.end - request.ts);
}

/** Of one request what the measure shows; of the times between its tokens the longest. */
export function valueOf(request: Request, measure: Measure): number | null {
  if (measure === "TTFT") return request.ttft;
  if (measure === "TPOT") return request.tpot;
  if (measure === "E2E") return request.ended ? request.end - request.ts : null;
  return interTokenTimes([request]).reduce<number | null>((most, time) => Math.max(most ?? 0, time), null);
}

/** Each value with the moment at which it was known. */
export function momentsOf(requests: readonly Request[], measure: Measure): Point[] {
  if (measure === "ITL") {
    return requests.flatMap((one) => one.tokens.slice(1).map((at, i): Point => [at, at - one.tokens[i]!]));
  }
  return requests.flatMap((one) => {
    const at = measure === "TTFT" ? one.first : measure === "TPOT" ? one.last : one.end;
    const value = valueOf(one, measure);
    return at === null || value === null ? [] : [[at, value] as Point];
  });
}

/** In equal windows of time: [middle, what `of` makes of the values in it]; windows without values are
 * left out where `of` gives null. */
export function overTime(
  points: readonly Point[],
  [begin, end]: readonly [number, number],
  windows: number,
  of: (values: readonly number[], width: number) => number | null,
): Point[] {
  if (end <= begin) return [];
  const width = (end - begin) / windows;
  const values = Array.from({ length: windows }, (): number[] => []);
  for (const [at, value] of points) {
    if (at >= begin && at <= end) values[Math.min(windows - 1, Math.floor((at - begin) / width))]!.push(value);
  }
  return values.flatMap((found, i) => {
    const value = of(found, width);
    return value === null ? [] : [[begin + (i + 0.5) * width, value] as Point];
  });
}

/** P99 of a measure and output tokens a second, over the time of all requests. */
export function courseOf(requests: readonly Request[], measure: Measure, windows: number) {
  const span = [
    requests.reduce((least, one) => Math.min(least, one.ts), Infinity),
    requests.reduce((most, one) => Math.max(most, one.end), -Infinity),
  ] as const;
  const tokens = requests.flatMap((one) => one.tokens.map((at): Point => [at, 1]));
  return {
    p99: overTime(momentsOf(requests, measure), span, windows, (values) =>
      values.length > 0 ? percentile(values, 0.99) : null,
    ),
    tokens: overTime(tokens, span, windows, (values, width) => (values.length / width) * 1e9),
  };
}

/** Requests that wait in the engine's queue, by its steps. */
export function queueOf(steps: TableMessage): Point[] {
  const [ts, waiting] = ["ts", "waiting_requests"].map((name) => steps.columns.findIndex((one) => one.name === name));
  return steps.rows.map((row) => [Number(row[ts!]), Number(row[waiting!] ?? 0)]);
}
