/** Draws the timeline with a Renderer from rows and fetched data. No state, no events. */
import type { SliceRefMessage } from "../../api/messages";
import { formatCounter, formatDuration } from "../../base/format";
import { ticks } from "../../base/ticks";
import type { Renderer } from "../../render/renderer";
import type { Row } from "./lanes";
import { type Label, MARK_SIZE, counterRange, paintRows, partsOf } from "./paint";
import { GUTTER, RULER, type Scene, openEnd } from "./scene";
import { timeToX } from "./viewport";

export function drawTimeline(r: Renderer, s: Scene) {
  const plot = s.width - GUTTER;
  const x = (ts: number) => GUTTER + timeToX(s.window, plot, ts);
  const grid = ticks(s.window.begin - s.zero, s.window.end - s.zero, plot);
  const picture = r.begin(s.width, s.height);
  const labels = paintRows(picture, s, grid.values);
  r.show(picture);
  const parts = partsOf(s);
  drawPart(r, s, parts.rest, labels.rest, RULER + s.stuck, s.height, x);
  drawPart(r, s, parts.stuck, labels.stuck, RULER, RULER + s.stuck, x);
  r.clip(GUTTER, RULER, plot, s.height - RULER, () => {
    drawAreaEdges(r, s, x);
    drawFlows(r, s, x);
    drawMarks(r, s, x);
    if (s.pointer && s.pointer.x > GUTTER)
      r.line(s.theme.line, [s.pointer.x + 0.5, RULER, s.pointer.x + 0.5, s.height]);
  });
  drawRuler(r, s, grid.values, grid.step, x);
}

/** What is written and drawn on rows, between two heights. */
function drawPart(
  r: Renderer,
  s: Scene,
  rows: readonly Row[],
  labels: readonly Label[],
  top: number,
  bottom: number,
  x: (ts: number) => number,
) {
  if (bottom <= top) return;
  r.clip(GUTTER, top, s.width - GUTTER, bottom - top, () => {
    for (const label of labels)
      r.text(label.beside ? s.theme.muted : s.theme.barText, label.text, label.x, label.y, label.width);
    for (const row of rows) {
      if (row.kind === "track") drawSelected(r, s, row, RULER + row.y - s.scroll, x);
      if (row.kind === "counter") drawRange(r, s, row, RULER + row.y - s.scroll);
    }
    drawArea(r, s, rows, x);
  });
  r.clip(0, top, s.width, bottom - top, () => {
    for (const row of rows) drawLabel(r, s, row);
  });
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

function drawLabel(r: Renderer, s: Scene, row: Row) {
  const y = RULER + row.y - s.scroll;
  if (row.kind === "trace" || row.kind === "group") {
    const top = row.kind === "trace";
    const middle = y + row.height / 2;
    const room = (top && row.preview < 0 ? 700 : GUTTER) - 40 - row.indent * 10;
    r.text(s.theme.muted, row.folded ? "▸" : "▾", 10 + row.indent * 10, middle, 14, "small");
    r.text(top ? s.theme.text : s.theme.muted, row.label, 26 + row.indent * 10, middle, room, "bold");
    const end = 26 + row.indent * 10 + Math.min(room, r.textWidth(row.label, "bold"));
    if (row.note !== "") r.text(s.theme.warning, row.note, Math.max(GUTTER, end) + 12, middle, 500, "small");
    return;
  }
  const hover = s.pointer !== null && s.pointer.x < GUTTER && s.pointer.y >= y && s.pointer.y < y + row.height;
  const middle = y + Math.min(row.height, 22) / 2;
  r.text(s.theme.text, row.label, 26 + row.indent * 8, middle, GUTTER - 26 - row.indent * 8 - 22);
  if (hover || row.pinned)
    r.text(row.pinned ? s.theme.accent : s.theme.muted, row.pinned ? "★" : "☆", GUTTER - 18, middle, 16);
}

/** The value at the top of a counter's plot, on a ground of its own. */
function drawRange(r: Renderer, s: Scene, row: Row, y: number) {
  const data = s.feed.counter(row.trace, row.track);
  if (!data || data.points.length === 0 || row.folded) return;
  const text = formatCounter(row.label, counterRange(data, s.window)[1]);
  r.rects(s.theme.panel, [GUTTER + 3, y + 3, text.length * 6 + 8, 13]);
  r.text(s.theme.muted, text, GUTTER + 7, y + 9, 120, "small");
}

function drawSelected(r: Renderer, s: Scene, row: Row, y: number, x: (ts: number) => number) {
  const outline = (slice: SliceRefMessage, thickness: number) => {
    if (slice.trace !== row.trace || slice.track !== row.track || slice.depth >= row.depths) return;
    if (slice.depth === row.marks) {
      const half = MARK_SIZE / 2 + 2;
      const [at, middle] = [x(slice.ts), y + 1 + slice.depth * row.bar + row.bar / 2];
      r.frame(s.theme.selection, at - half, middle - half, 2 * half, 2 * half, thickness);
      return;
    }
    const left = Math.max(x(slice.ts), GUTTER - 4);
    const end = slice.dur < 0 ? openEnd(s.session, slice.trace, slice.ts) : slice.ts + slice.dur;
    const right = Math.min(x(end), s.width + 4);
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

/** The value of a counter at a moment; null before its first. */
export function counterAt(points: Float64Array, ts: number): number | null {
  let found: number | null = null;
  for (let i = 0; i < points.length && points[i]! <= ts; i += 4) found = points[i + 3]!;
  return found;
}

function drawArea(r: Renderer, s: Scene, rows: readonly Row[], x: (ts: number) => number) {
  if (!s.area) return;
  const lanes = new Set(s.area.lanes.map((lane) => `${lane.trace}:${lane.track}`));
  const [left, right] = [x(s.area.begin), x(s.area.end)];
  for (const row of rows) {
    if (row.kind !== "track" || !lanes.has(`${row.trace}:${row.track}`)) continue;
    r.frame(s.theme.selection, left, RULER + row.y - s.scroll + 0.5, right - left, row.height - 1, 1);
  }
}

function drawAreaEdges(r: Renderer, s: Scene, x: (ts: number) => number) {
  if (!s.area) return;
  const [left, right] = [x(s.area.begin), x(s.area.end)];
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
