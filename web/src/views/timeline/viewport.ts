/** The visible window of time and what the user does with it. Nanoseconds. */
export interface TimeWindow {
  begin: number;
  end: number;
}

/** One step of W or S, as users of the ecosystem's viewer know it. */
export const ZOOM_STEP = 1.1236;
/** A and D move by this part of the window. */
export const PAN_PART = 0.05;
const SHORTEST = 10;

export function spanOf(window: TimeWindow): number {
  return window.end - window.begin;
}

/** Keeps the window as long as it is where possible, within the data and a margin beside it. */
export function clampWindow(window: TimeWindow, data: TimeWindow): TimeWindow {
  const longest = Math.max(spanOf(data) * 1.2, 1000);
  const span = Math.min(Math.max(spanOf(window), SHORTEST), longest);
  const margin = Math.max(span * 0.5, spanOf(data) * 0.1);
  let begin = window.begin + (spanOf(window) - span) / 2;
  begin = Math.max(begin, data.begin - margin);
  begin = Math.min(begin, data.end + margin - span);
  if (spanOf(data) * 1.2 <= span) begin = data.begin - (span - spanOf(data)) / 2;
  return { begin, end: begin + span };
}

/** factor > 1 shows more. The moment `at` stays where it is. */
export function zoom(window: TimeWindow, factor: number, at: number, data: TimeWindow): TimeWindow {
  const longest = Math.max(spanOf(data) * 1.2, 1000);
  const wanted = Math.min(Math.max(spanOf(window) * factor, SHORTEST), longest);
  const part = spanOf(window) === 0 ? 0.5 : (at - window.begin) / spanOf(window);
  const begin = at - wanted * part;
  return clampWindow({ begin, end: begin + wanted }, data);
}

export function pan(window: TimeWindow, by: number, data: TimeWindow): TimeWindow {
  return clampWindow({ begin: window.begin + by, end: window.end + by }, data);
}

/** A slice with room at both sides; a window in which it is already well seen stays. */
export function focusOn(window: TimeWindow, ts: number, dur: number, data: TimeWindow, tight = false): TimeWindow {
  // A moment, or what has not ended, has no length to fit: the scale stays.
  if (dur <= 0) {
    if (!tight && ts >= window.begin && ts <= window.end) return window;
    const span = tight ? Math.max(SHORTEST, spanOf(window) / 8) : spanOf(window);
    return clampWindow({ begin: ts - span / 2, end: ts + span / 2 }, data);
  }
  const isSeen = ts >= window.begin && ts + dur <= window.end;
  if (!tight && isSeen && dur > spanOf(window) / 400) return window;
  const span = tight || dur > spanOf(window) || dur < spanOf(window) / 400 ? dur * (tight ? 1.25 : 8) : spanOf(window);
  const middle = ts + dur / 2;
  return clampWindow({ begin: middle - span / 2, end: middle + span / 2 }, data);
}

export function timeToX(window: TimeWindow, width: number, ts: number): number {
  return ((ts - window.begin) / spanOf(window)) * width;
}

export function xToTime(window: TimeWindow, width: number, x: number): number {
  return window.begin + (x / Math.max(width, 1)) * spanOf(window);
}
