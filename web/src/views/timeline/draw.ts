/** Draws the timeline with a Renderer from rows and fetched data. No state, no events. */
import type { SessionMessage, SliceMessage, SliceRefMessage } from "../../api/messages";
import { colorIndex } from "../../base/color";
import { formatDuration, formatNumber } from "../../base/format";
import { ticks } from "../../base/ticks";
import type { Renderer } from "../../render/renderer";
import type { Theme } from "../../theme/themes";
import type { Area, Mark } from "../../app/state";
import type { CounterData, Feed } from "./feed";
import type { Row } from "./lanes";
import { type TimeWindow, timeToX } from "./viewport";

export const GUTTER = 230;
export const RULER = 26;

export interface Scene {
  theme: Theme;
  width: number;
  height: number;
  scroll: number;
  window: TimeWindow;
  zero: number;
  rows: readonly Row[];
  /** Also those that are scrolled away: arrows lead there. */
  allRows: readonly Row[];
  feed: Feed;
  session: SessionMessage;
  slice: SliceMessage | null;
  area: Area | null;
  marks: readonly Mark[];
  hits: readonly SliceRefMessage[];
  hit: SliceRefMessage | null;
  hoverName: string;
  pointer: { x: number; y: number } | null;
  /** The lane that keys act on. */
  cursor: string;
  anchor: SliceRefMessage | null;
}

const OVERLAP_COLORS: Record<string, keyof Theme> = {
  Computing: "computing",
  Communication: "communication",
  "Communication(Not Overlapped)": "exposed",
  Free: "free",
};

/** The colour of a bar; the four kinds of time have their own, always the same. */
export function barColor(theme: Theme, family: string, name: string | undefined): string {
  if (name === undefined) return theme.pending;
  const fixed = family === "overlap" ? OVERLAP_COLORS[name] : undefined;
  return fixed ? (theme[fixed] as string) : theme.bars[colorIndex(name, theme.bars.length)]!;
}

export function drawTimeline(r: Renderer, s: Scene) {
  r.begin(s.width, s.height, s.theme.background);
  const plot = s.width - GUTTER;
  const x = (ts: number) => GUTTER + timeToX(s.window, plot, ts);
  const grid = ticks(s.window.begin - s.zero, s.window.end - s.zero, plot);
  r.clip(GUTTER, RULER, plot, s.height - RULER, () => {
    for (const value of grid.values)
      r.line(s.theme.faint, [
        Math.round(x(value + s.zero)) + 0.5,
        RULER,
        Math.round(x(value + s.zero)) + 0.5,
        s.height,
      ]);
  });
  r.rects(s.theme.panel, [0, 0, GUTTER, s.height]);
  r.line(s.theme.line, [GUTTER + 0.5, 0, GUTTER + 0.5, s.height]);
  r.clip(0, RULER, s.width, s.height - RULER, () => {
    for (const row of s.rows) drawRow(r, s, row, x);
  });
  r.clip(GUTTER, RULER, plot, s.height - RULER, () => {
    drawArea(r, s, x);
    drawFlows(r, s, x);
    drawMarks(r, s, x);
    if (s.pointer && s.pointer.x > GUTTER)
      r.line(s.theme.line, [s.pointer.x + 0.5, RULER, s.pointer.x + 0.5, s.height]);
  });
  drawRuler(r, s, grid.values, grid.step, x);
}

function drawRuler(r: Renderer, s: Scene, values: readonly number[], step: number, x: (ts: number) => number) {
  r.rects(s.theme.panel, [0, 0, s.width, RULER]);
  r.clip(GUTTER, 0, s.width - GUTTER, RULER, () => {
    for (const value of values) {
      const at = Math.round(x(value + s.zero)) + 0.5;
      r.line(s.theme.line, [at, RULER - 6, at, RULER]);
      r.text(s.theme.muted, rulerText(value, step), at + 4, RULER / 2 - 1, 120, "small");
    }
    for (const hit of s.hits) r.rects(s.theme.selection, [x(hit.ts), RULER - 3, 2, 3]);
  });
  r.text(s.theme.muted, formatDuration(s.window.end - s.window.begin), 12, RULER / 2, GUTTER - 20, "small");
  r.line(s.theme.line, [0, RULER - 0.5, s.width, RULER - 0.5]);
}

/** As many decimals as the step needs, in the unit of the step's size. */
export function rulerText(value: number, step: number): string {
  const [unit, size] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["µs", 1e3] : ["ns", 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / (size as number)) - 1e-9));
  return `${(value / (size as number)).toFixed(digits)} ${unit}`;
}

function drawRow(r: Renderer, s: Scene, row: Row, x: (ts: number) => number) {
  const y = RULER + row.y - s.scroll;
  if (row.kind === "trace" || row.kind === "group") {
    const top = row.kind === "trace";
    r.rects(top ? s.theme.panel : s.theme.background, [0, y, s.width, row.height]);
    if (!top) r.rects(s.theme.panel, [0, y, GUTTER, row.height]);
    r.text(s.theme.muted, row.folded ? "▸" : "▾", 10 + row.indent * 10, y + row.height / 2, 14, "small");
    r.text(
      top ? s.theme.text : s.theme.muted,
      row.label,
      26 + row.indent * 10,
      y + row.height / 2,
      (top ? 700 : GUTTER) - 40 - row.indent * 10,
      "bold",
    );
    if (row.note !== "") r.text(s.theme.warning, row.note, GUTTER + 12, y + row.height / 2, 500, "small");
    if (row.key === s.cursor) r.rects(s.theme.accent, [0, y, 3, row.height]);
    r.line(s.theme.line, [0, y + row.height - 0.5, s.width, y + row.height - 0.5]);
    return;
  }
  r.clip(GUTTER, Math.max(y, RULER), s.width - GUTTER, row.height, () => {
    if (row.kind === "counter") drawCounter(r, s, row, y, x);
    else drawTrack(r, s, row, y, x);
  });
  const hover = s.pointer !== null && s.pointer.x < GUTTER && s.pointer.y >= y && s.pointer.y < y + row.height;
  r.rects(hover ? s.theme.faint : s.theme.panel, [0, y, GUTTER - 0.5, row.height]);
  if (row.key === s.cursor) r.rects(s.theme.accent, [0, y, 3, row.height]);
  const middle = y + Math.min(row.height, 22) / 2;
  r.text(s.theme.text, row.label, 26 + row.indent * 8, middle, GUTTER - 60 - row.indent * 8);
  if (hover || row.pinned)
    r.text(row.pinned ? s.theme.accent : s.theme.muted, row.pinned ? "★" : "☆", GUTTER - 18, middle, 16);
  r.line(s.theme.faint, [0, y + row.height - 0.5, s.width, y + row.height - 0.5]);
}

function drawTrack(r: Renderer, s: Scene, row: Row, y: number, x: (ts: number) => number) {
  const data = s.feed.track(row.trace, row.track);
  if (!data) return;
  const batches = new Map<string, number[]>();
  const labels: [string, number, number, number][] = [];
  const bright: number[] = [];
  for (const lane of data.lanes) {
    if (lane.depth >= row.depths) continue;
    const top = y + 2 + lane.depth * row.bar;
    const bar = row.bar > 8 ? row.bar - 2 : Math.max(1, row.bar - 0.5);
    for (let i = 0; i < lane.begin.length; ++i) {
      const from = lane.begin[i]!;
      const unfinished = lane.dur[i]! < 0;
      const to = unfinished ? s.window.end : from + lane.dur[i]!;
      if (to < s.window.begin || from > s.window.end) continue;
      const left = Math.max(x(from), GUTTER - 2);
      const right = Math.min(x(to), s.width + 2);
      const width = Math.max(right - left, 1);
      const name = s.feed.name(row.trace, lane.name[i]!);
      const color = barColor(s.theme, row.family, name);
      let batch = batches.get(color);
      if (!batch) batches.set(color, (batch = []));
      // A hair of ground between neighbours.
      batch.push(left, top, width > 3 ? width - 0.7 : width, bar);
      if (width > 22 && bar > 11 && name !== undefined && lane.count[i] === 1)
        labels.push([name, Math.max(left, GUTTER) + 4, top + bar / 2, right - Math.max(left, GUTTER) - 7]);
      if (s.hoverName !== "" && name === s.hoverName && width > 2) bright.push(left, top + bar - 2, width, 2);
    }
  }
  for (const [color, values] of batches) r.rects(color, values);
  r.rects(s.theme.barText, bright);
  for (const [name, at, middle, width] of labels) r.text(s.theme.barText, name, at, middle, width);
  drawSelected(r, s, row, y, x);
}

function drawSelected(r: Renderer, s: Scene, row: Row, y: number, x: (ts: number) => number) {
  const outline = (slice: SliceRefMessage, thickness: number) => {
    if (slice.trace !== row.trace || slice.track !== row.track || slice.depth >= row.depths) return;
    const left = Math.max(x(slice.ts), GUTTER - 4);
    const right = Math.min(slice.dur < 0 ? s.width : x(slice.ts + slice.dur), s.width + 4);
    r.frame(
      s.theme.selection,
      left,
      y + 2 + slice.depth * row.bar,
      Math.max(right - left, 3),
      Math.max(3, row.bar - 2),
      thickness,
    );
  };
  if (s.anchor) outline(s.anchor, 1);
  if (s.hit) outline(s.hit, 1.5);
  if (s.slice) outline(s.slice.slice, 2);
}

/** Lowest and highest value of the points in the window, zero included. */
export function counterRange(data: CounterData, window: TimeWindow): [number, number] {
  let low = 0;
  let high = 0;
  for (let i = 0; i < data.points.length; i += 4) {
    if (data.points[i]! > window.end) break;
    low = Math.min(low, data.points[i + 1]!);
    high = Math.max(high, data.points[i + 2]!);
  }
  return [low, high === low ? low + 1 : high];
}

/** The value of a counter at a moment; null before its first. */
export function counterAt(points: Float64Array, ts: number): number | null {
  let found: number | null = null;
  for (let i = 0; i < points.length && points[i]! <= ts; i += 4) found = points[i + 3]!;
  return found;
}

function drawCounter(r: Renderer, s: Scene, row: Row, y: number, x: (ts: number) => number) {
  const data = s.feed.counter(row.trace, row.track);
  if (!data || data.points.length === 0 || row.folded) return;
  const [low, high] = counterRange(data, s.window);
  const toY = (value: number) => y + row.height - 3 - ((value - low) / (high - low)) * (row.height - 8);
  const p = data.points;
  const fill: number[] = [];
  const line: number[] = [];
  for (let i = 0; i < p.length; i += 4) {
    const left = Math.max(x(p[i]!), GUTTER - 2);
    const right = Math.min(i + 4 < p.length ? x(p[i + 4]!) : s.width, s.width + 2);
    if (right < GUTTER || left > s.width) continue;
    const top = toY(p[i + 2]!);
    fill.push(left, top, right - left, y + row.height - 3 - top);
    line.push(left, toY(p[i + 2]!), left, toY(p[i + 3]!), right, toY(p[i + 3]!));
  }
  r.rects(s.theme.counter, fill);
  r.line(s.theme.counterLine, line, 1.2);
  r.text(s.theme.muted, formatNumber(high), GUTTER + 6, y + 9, 120, "small");
}

function drawArea(r: Renderer, s: Scene, x: (ts: number) => number) {
  if (!s.area) return;
  const lanes = new Set(s.area.lanes.map((lane) => `${lane.trace}:${lane.track}`));
  const [left, right] = [x(s.area.begin), x(s.area.end)];
  for (const row of s.rows) {
    if (row.kind !== "track" || !lanes.has(`${row.trace}:${row.track}`)) continue;
    r.frame(s.theme.selection, left, RULER + row.y - s.scroll + 0.5, right - left, row.height - 1, 1);
  }
  r.line(s.theme.selection, [left, RULER, left, s.height], 1, [4, 3]);
  r.line(s.theme.selection, [right, RULER, right, s.height], 1, [4, 3]);
}

function drawMarks(r: Renderer, s: Scene, x: (ts: number) => number) {
  for (const mark of s.marks) {
    const left = x(mark.begin);
    const color = s.theme.bars[mark.color % s.theme.bars.length]!;
    r.line(color, [left, RULER, left, s.height], 1.5);
    if (mark.end > mark.begin) {
      r.line(color, [x(mark.end), RULER, x(mark.end), s.height], 1.5);
      r.rects(color, [left, RULER, x(mark.end) - left, 3]);
    }
    const width = Math.min(200, 8 + mark.name.length * 6.5);
    r.rects(color, [left, s.height - 18, width, 18]);
    r.text(s.theme.barText, mark.name, left + 4, s.height - 9, width - 4, "small");
  }
}

/** Where the middle of a slice's bar is, or its lane's header if it is folded away. */
export function placeOf(rows: readonly Row[], scroll: number, slice: SliceRefMessage): number | null {
  const row = rows.find(
    (candidate) => candidate.kind === "track" && candidate.trace === slice.trace && candidate.track === slice.track,
  );
  if (!row) return null;
  const depth = Math.min(slice.depth, row.depths - 1);
  return RULER + row.y - scroll + 2 + depth * row.bar + row.bar / 2;
}

function drawFlows(r: Renderer, s: Scene, x: (ts: number) => number) {
  if (!s.slice) return;
  for (const flow of s.slice.flows) {
    const [from, to] = flow.out ? [s.slice.slice, flow.slice] : [flow.slice, s.slice.slice];
    const [y0, y1] = [placeOf(s.allRows, s.scroll, from), placeOf(s.allRows, s.scroll, to)];
    if (y0 === null || y1 === null) continue;
    r.curve(s.theme.selection, x(from.ts + Math.max(0, from.dur) / 2), y0, x(to.ts), y1);
  }
}
