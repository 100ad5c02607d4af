/** Paints what there is most of, the bars of lanes and the columns of counters, into a picture; texts
 * and outlines come on top (draw.ts). No state, no events. */
import { Pixels, between, packed } from "../../render/pixels";
import { colorIndex } from "../../base/color";
import type { Theme } from "../../theme/themes";
import type { LaneWindow } from "../../api/decode";
import type { CounterData } from "./feed";
import { type Row, isPinned } from "./lanes";
import { GUTTER, RULER, type Scene, openEnd } from "./scene";
import { type TimeWindow, timeToX } from "./viewport";

/** A name to be written on a bar, or beside a mark: where, and how much room there is. */
export interface Label {
  beside?: boolean;
  text: string;
  x: number;
  y: number;
  width: number;
}

const OVERLAP_COLORS: Record<string, keyof Theme> = {
  Computing: "computing",
  Communication: "communication",
  "Communication(Not Overlapped)": "exposed",
  Free: "free",
};
const LEAST_LABEL = 22;
/** Width and height of the diamond that a mark is. */
export const MARK_SIZE = 12;

/** The colour of a bar; the four kinds of time have their own, always the same. */
export function barColor(theme: Theme, family: string, name: string | undefined): string {
  if (name === undefined) return theme.pending;
  const fixed = family === "overlap" ? OVERLAP_COLORS[name] : undefined;
  return fixed ? (theme[fixed] as string) : theme.bars[colorIndex(name, theme.bars.length)]!;
}

/** Rows that stay in view and those that scroll, or what is written on them. */
export interface Parts<T> {
  stuck: T[];
  rest: T[];
}

export function partsOf(s: Scene): Parts<Row> {
  const first = s.rows.findIndex((row) => s.stuck === 0 || !isPinned(row));
  const at = first < 0 ? s.rows.length : first;
  return { stuck: s.rows.slice(0, at), rest: s.rows.slice(at) };
}

/** Background, lines of the ruler, rows with their bars; returns what is to be written on them. */
export function paintRows(picture: Pixels, s: Scene, ticks: readonly number[]): Parts<Label> {
  const parts = partsOf(s);
  picture.data.fill(packed(s.theme.background));
  const rest = paintPart(picture, s, ticks, parts.rest);
  const last = s.allRows.at(-1);
  const bottom = last ? RULER + last.y + last.height - s.scroll : 0;
  picture.fill(packed(s.theme.panel), 0, bottom, GUTTER, s.height - bottom);
  if (s.stuck === 0) return { stuck: [], rest };
  picture.fill(packed(s.theme.background), 0, RULER, s.width, s.stuck);
  const stuck = paintPart(picture, s, ticks, parts.stuck, s.stuck);
  picture.fill(packed(s.theme.muted), 0, RULER + s.stuck - 1, s.width, 1);
  return { stuck, rest };
}

/** To `height` below the ruler. */
function paintPart(
  picture: Pixels,
  s: Scene,
  ticks: readonly number[],
  rows: readonly Row[],
  height = s.height,
): Label[] {
  const color = { faint: packed(s.theme.faint), line: packed(s.theme.line), panel: packed(s.theme.panel) };
  const plot = s.width - GUTTER;
  for (const value of ticks) {
    const x = GUTTER + timeToX(s.window, plot, value + s.zero);
    if (x >= GUTTER) picture.fill(color.faint, Math.round(x), RULER, 1, height);
  }
  picture.fill(color.line, GUTTER, 0, 1, RULER + height);
  const labels: Label[] = [];
  for (const row of rows) {
    const y = RULER + row.y - s.scroll;
    const isHeader = row.kind === "trace" || row.kind === "group";
    if (row.kind === "trace") picture.fill(color.panel, 0, y, s.width, row.height);
    if (row.kind === "group") picture.fill(packed(s.theme.background), GUTTER + 1, y, s.width, row.height);
    // What is folded away is seen as a strip at the foot of its header.
    if (row.preview >= 0)
      paintTrack(picture, s, { ...row, track: row.preview, depths: 1, bar: 6 }, y + row.height - 10, labels);
    if (row.kind === "counter") paintCounter(picture, s, row, y);
    if (row.kind === "track") paintTrack(picture, s, row, y, labels);
    const hover = s.pointer !== null && s.pointer.x < GUTTER && s.pointer.y >= y && s.pointer.y < y + row.height;
    picture.fill(hover && !isHeader ? color.faint : color.panel, 0, y, GUTTER, row.height);
    if (row.key === s.cursor) picture.fill(packed(s.theme.accent), 0, y, 3, row.height);
    picture.fill(isHeader ? color.line : color.faint, 0, y + row.height - 1, s.width, 1);
  }
  return labels;
}

function paintTrack(picture: Pixels, s: Scene, row: Row, y: number, labels: Label[]) {
  const data = s.feed.track(row.trace, row.track);
  for (const lane of data?.lanes ?? []) {
    if (lane.depth >= row.depths) continue;
    const top = y + 2 + lane.depth * row.bar;
    const bar = row.bar > 8 ? row.bar - 2 : Math.max(1, row.bar - 0.5);
    if (top > s.height || top + bar < RULER) continue;
    if (lane.depth === row.marks) {
      paintMarks(picture, s, row, lane, top, labels);
      continue;
    }
    const bright: number[] = [];
    picture.strip(top, bar, (line) => paintLane(line, s, row, lane, { top, bar, pixel: data!.pixel, labels, bright }));
    for (let i = 0; i < bright.length; i += 2)
      picture.fill(packed(s.theme.barText), bright[i]!, top + bar - 2, bright[i + 1]!, 2);
  }
}

interface LanePlace {
  top: number;
  bar: number;
  /** Nanoseconds that several slices drawn as one stand for. */
  pixel: number;
  labels: Label[];
  /** Begin and width of bars that have the name under the mouse. */
  bright: number[];
}

/** Marks nearer to each other than this are drawn as one. */
const MARK_STEP = 4;

/** A mark is a diamond at its moment; its name stands beside it where the next one leaves room. */
function paintMarks(picture: Pixels, s: Scene, row: Row, lane: LaneWindow, top: number, labels: Label[]) {
  const scale = (s.width - GUTTER) / (s.window.end - s.window.begin);
  const [half, middle] = [MARK_SIZE / 2, top + (row.bar - 2) / 2];
  let last = -Infinity;
  for (let i = firstSeen(lane, s.window.begin); i < lane.begin.length; ++i) {
    const x = GUTTER + (lane.begin[i]! - s.window.begin) * scale;
    if (x > s.width + half) break;
    if (x < GUTTER - half || x < last + MARK_STEP) continue;
    last = x;
    const name = s.feed.name(row.trace, lane.name[i]!);
    const color = packed(barColor(s.theme, row.family, name));
    for (let dy = -half; dy < half; ++dy) {
      const reach = half - Math.abs(dy + 0.5);
      const [left, right] = [Math.max(GUTTER + 1, x - reach), x + reach];
      if (right > left) picture.fill(color, left, middle + dy, right - left, 1);
    }
    const next = GUTTER + ((lane.begin[i + 1] ?? Infinity) - s.window.begin) * scale;
    const room = Math.min(next - half, s.width) - x - half - 5;
    if (name !== undefined && lane.count[i] === 1 && room > LEAST_LABEL)
      labels.push({ text: name, x: x + half + 3, y: middle, width: room, beside: true });
  }
}

/** The first slice that can be seen: slices of a lane are in the order of time. */
export function firstSeen(lane: LaneWindow, begin: number): number {
  let low = 0;
  let high = lane.begin.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.begin[middle]! < begin) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Several slices drawn as one stand where the longest of them begins: what lies between such places
 * that follow each other is no gap. */
export function drawnLength(lane: LaneWindow, i: number, pixel: number): number {
  const dur = lane.dur[i]!;
  if (dur < 0 || lane.count[i]! <= 1) return dur;
  const next = (lane.begin[i + 1] ?? Infinity) - lane.begin[i]!;
  return Math.max(dur, next <= 3 * pixel ? next : pixel);
}

function paintLane(line: Uint32Array, s: Scene, row: Row, lane: LaneWindow, place: LanePlace) {
  const scale = (s.width - GUTTER) / (s.window.end - s.window.begin);
  const gutter = Math.round(GUTTER * (line.length / s.width));
  const ratio = line.length / s.width;
  const bars = s.theme.bars.map(packed);
  const isOverlap = row.family === "overlap";
  let free = gutter;
  for (let i = firstSeen(lane, s.window.begin); i < lane.begin.length; ++i) {
    const from = lane.begin[i]!;
    if (from > s.window.end) break;
    const length = drawnLength(lane, i, place.pixel);
    const dur = length < 0 ? openEnd(s.session, row.trace, from) - from : length;
    const x = GUTTER + (from - s.window.begin) * scale;
    const right = Math.min(x + dur * scale, s.width);
    if (right < GUTTER) continue;
    const left = Math.max(x, GUTTER);
    const width = right - left;
    let begin = Math.round(left * ratio);
    let end = Math.round(right * ratio);
    // A hair of ground between neighbours; bars below a pixel take one that is still free.
    if (width > 3) end -= 1;
    if (end <= begin) {
      begin = Math.max(begin, free);
      end = begin + 1;
      if (begin > Math.round(right * ratio)) continue;
    }
    const name = lane.name[i]!;
    const hue = isOverlap ? -1 : s.feed.hue(row.trace, name, bars.length);
    const color = hue >= 0 ? bars[hue]! : packed(barColor(s.theme, row.family, s.feed.name(row.trace, name)));
    line.fill(color, begin, end);
    free = end;
    if (width <= 2) continue;
    const text = s.feed.name(row.trace, name);
    if (width > LEAST_LABEL && place.bar > 11 && text !== undefined && lane.count[i] === 1)
      place.labels.push({ text, x: left + 4, y: place.top + place.bar / 2, width: width - 7 });
    if (s.hoverName !== "" && text === s.hoverName) place.bright.push(left, width);
  }
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

/** The lowest and the highest value in each column of a plot; of a point the last value goes on to the next. */
export function counterColumns(points: Float64Array, window: TimeWindow, columns: number) {
  const low = new Float64Array(columns).fill(NaN);
  const high = new Float64Array(columns).fill(NaN);
  const scale = columns / (window.end - window.begin);
  for (let i = 0; i < points.length; i += 4) {
    const from = Math.floor((points[i]! - window.begin) * scale);
    if (from >= columns) break;
    const to = i + 4 < points.length ? Math.floor((points[i + 4]! - window.begin) * scale) : columns;
    if (from >= 0) {
      low[from] = Number.isNaN(low[from]!) ? points[i + 1]! : Math.min(low[from]!, points[i + 1]!);
      high[from] = Number.isNaN(high[from]!) ? points[i + 2]! : Math.max(high[from]!, points[i + 2]!);
    }
    const begin = Math.max(0, from + 1);
    if (to > begin) {
      low.fill(points[i + 3]!, begin, Math.min(columns, to));
      high.fill(points[i + 3]!, begin, Math.min(columns, to));
    }
  }
  return { low, high };
}

/** Filled up to the lowest value of each column, lighter up to the highest, with a line on top. */
function paintCounter(picture: Pixels, s: Scene, row: Row, y: number) {
  const data = s.feed.counter(row.trace, row.track);
  if (!data || data.points.length === 0 || row.folded) return;
  const range = counterRange(data, s.window);
  const { ratio, columns, rows } = picture;
  const gutter = Math.round(GUTTER * ratio);
  const base = Math.min(rows, Math.round((y + row.height - 3) * ratio));
  const toY = (value: number) =>
    Math.round((y + row.height - 3 - ((value - range[0]) / (range[1] - range[0])) * (row.height - 8)) * ratio);
  const [fill, edge] = [packed(s.theme.counter), packed(s.theme.counterLine)];
  const band = between(fill, edge);
  const seen = counterColumns(data.points, s.window, columns - gutter);
  let before = NaN;
  for (let at = 0; at < seen.low.length; ++at) {
    const high = seen.high[at]!;
    if (Number.isNaN(high)) continue;
    const top = toY(high);
    const low = toY(seen.low[at]!);
    // A plain step is joined to the one before; where many values lie in a column they stand for themselves.
    const isPlain = low - top <= 1;
    const from = isPlain && before < top ? before : top;
    const to = isPlain && before > top ? before : top + 1;
    for (let pixel = Math.max(0, from); pixel < Math.max(base, Math.min(to, rows)); ++pixel) {
      picture.data[pixel * columns + gutter + at] = pixel < to ? edge : pixel < low ? band : fill;
    }
    before = isPlain ? top : NaN;
  }
}
