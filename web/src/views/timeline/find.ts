/** What of the timeline lies under a point of it. Pure; CSS pixels of the canvas. */
import type { SessionMessage } from "../../api/messages";
import type { Feed } from "./feed";
import { type Row, groupsOf, laneStartsFolded } from "./lanes";
import { GUTTER, RULER, openEnd } from "./scene";
import { type TimeWindow, timeToX } from "./viewport";

/** Whether a row is folded before the user has chosen. */
export function foldedAtStart(row: Row, session: SessionMessage): boolean {
  const trace = session.traces.find((candidate) => candidate.id === row.trace);
  const track = trace?.tracks.find((candidate) => candidate.id === row.track);
  if (track) return laneStartsFolded(track);
  if (row.key.endsWith("/computed")) return true;
  if (row.family !== "counter" || row.kind !== "group") return false;
  return (trace ? (groupsOf(trace, (key) => key).find((g) => g.key === row.key)?.tracks.length ?? 0) : 0) > 6;
}

/** What is drawn, and where. */
export interface Shown {
  rows: readonly Row[];
  /** How far down the rows are scrolled. */
  top: number;
  window: TimeWindow;
  width: number;
  feed: Feed;
  session: SessionMessage;
}

export interface Found {
  trace: number;
  id: number;
  name: string;
  dur: number;
  /** How many slices the bar stands for. */
  count: number;
}

export function rowAt({ rows, top }: Shown, y: number): Row | undefined {
  return rows.find((row) => y - RULER + top >= row.y && y - RULER + top < row.y + row.height);
}

/** The slice at a point, or within 4 pixels beside it. */
export function sliceAt(shown: Shown, x: number, y: number): Found | null {
  const { top, window, width, feed, session } = shown;
  const row = rowAt(shown, y);
  if (!row || row.kind !== "track" || x < GUTTER) return null;
  const depth = Math.floor((y - RULER + top - row.y - 2) / row.bar);
  const lane = feed.track(row.trace, row.track)?.lanes.find((l) => l.depth === depth);
  if (!lane || depth >= row.depths) return null;
  const plot = width - GUTTER;
  let best = -1;
  let distance = 4;
  for (let i = 0; i < lane.begin.length; ++i) {
    const begin = lane.begin[i]!;
    const end = lane.dur[i]! < 0 ? openEnd(session, row.trace, begin) : begin + lane.dur[i]!;
    const left = GUTTER + timeToX(window, plot, begin);
    const right = Math.max(left + 1, GUTTER + timeToX(window, plot, end));
    const away = x < left ? left - x : x > right ? x - right : 0;
    if (away < distance || (away === 0 && distance === 0)) [best, distance] = [i, away];
  }
  if (best < 0) return null;
  return {
    trace: row.trace,
    id: lane.id[best]!,
    name: feed.name(row.trace, lane.name[best]!) ?? "",
    dur: lane.dur[best]!,
    count: lane.count[best]!,
  };
}
