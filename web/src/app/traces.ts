/** Where a trace stands. */
import type { TraceMessage } from "../api/messages";

/** Whether there is anything to draw: a preview of what is being read counts, and a recording that
 * grows; a damaged file may be read without giving a single record. */
export function isShown(trace: TraceMessage): boolean {
  return trace.state !== "failed" && trace.tracks.some((track) => track.slices > 0);
}

/** Whether statements see it. */
export function isReady(trace: TraceMessage): boolean {
  return trace.state === "ready" || trace.state === "recording";
}

/** Whether only a part of it is there. */
export function isPart(trace: TraceMessage): boolean {
  return trace.state === "reading" && trace.tracks.length > 0;
}
