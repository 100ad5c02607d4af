/** Where a trace stands. */
import type { SessionMessage, TraceMessage, TrackMessage } from "../api/messages";

/** Whether there is anything on it; a counter is there because it has values. */
export function isFilled(track: TrackMessage): boolean {
  return track.slices > 0 || track.marks > 0 || track.kind === "counter";
}

/** Whether any view has something of it: the server counts what is in its tables. A damaged file may be read
 * without giving a single record. */
export function isFull(trace: TraceMessage): boolean {
  return trace.state !== "failed" && !trace.empty;
}

/** Whether all that is open are stores of other tables, as comparisons of values. */
export function hasNoTrace(session: SessionMessage | null): boolean {
  const full = session?.traces.filter(isFull) ?? [];
  return full.length > 0 && full.every(({ tables }) => tables.length > 0);
}

/** Whether there is anything to draw on the timeline: a preview of what is being read counts, and a recording that
 * grows. */
export function isShown(trace: TraceMessage): boolean {
  return trace.state !== "failed" && trace.tracks.some(isFilled);
}

/** Whether statements see it. */
export function isReady(trace: TraceMessage): boolean {
  return trace.state === "ready" || trace.state === "recording";
}

/** Whether only a part of it is there. */
export function isPart(trace: TraceMessage): boolean {
  return trace.state === "reading" && trace.tracks.length > 0;
}

/** Nanoseconds between the first begin and the last, where traces lie so far apart that none of them could be
 * seen beside the others: clocks that have nothing to do with each other. 0: they do. */
export function farApart(traces: readonly TraceMessage[]): number {
  const shown = traces.filter((trace) => isShown(trace) && trace.end > trace.begin);
  if (shown.length < 2) return 0;
  const begins = shown.map((trace) => trace.begin);
  const apart = Math.max(...begins) - Math.min(...begins);
  const longest = Math.max(...shown.map((trace) => trace.end - trace.begin));
  return apart > 50 * longest ? apart : 0;
}
