/** Lanes of the overlap analysis where the trace brings none: computed by the recipe. Pure. */
import { COMPUTED_IDS } from "../../api/marks";
import type { AreaMessage, SliceRefMessage, TableMessage } from "../../api/messages";
import type { LaneWindow } from "../../api/decode";
import { columnOf } from "../../app/columns";
import type { TimeWindow } from "./viewport";

export const OVERLAP_KINDS = ["Computing", "Communication", "Communication(Not Overlapped)", "Free"] as const;

/** Track ids from here on are lanes of ours, one a kind. */
export const COMPUTED = 1_000_000_000;

const KINDS = OVERLAP_KINDS.length;

/** The slice number of an interval: the one of its kind that is `at` in the order of time. */
export const computedId = (kind: number, at: number) => COMPUTED_IDS - (at * KINDS + kind);

/** Kind and place of a slice number that isComputed. */
export const placeOfComputed = (id: number): [kind: number, at: number] => [
  (COMPUTED_IDS - id) % KINDS,
  Math.floor((COMPUTED_IDS - id) / KINDS),
];

/** The text of a slice's name: numbers of names are 0 and more, ours are below -1. */
export function computedName(id: number): string | undefined {
  return OVERLAP_KINDS[-2 - id];
}

export interface Intervals {
  begin: Float64Array;
  dur: Float64Array;
}

/** By kind, in the order of time, after `base` and moved by the offset of the trace. */
export function intervalsOf(table: TableMessage, base: string, offset: number): Intervals[] {
  const [type, from, to] = ["type", "start_ns", "end_ns"].map((name) => columnOf(table, name)) as [
    number,
    number,
    number,
  ];
  const zero = BigInt(base);
  return OVERLAP_KINDS.map((kind) => {
    const rows = table.rows
      .filter((row) => row[type] === kind)
      .map((row): [number, number] => [
        Number(BigInt(String(row[from])) - zero) + offset,
        Number(BigInt(String(row[to])) - BigInt(String(row[from]))),
      ])
      .sort((a, b) => a[0] - b[0]);
    return { begin: Float64Array.from(rows, (row) => row[0]), dur: Float64Array.from(rows, (row) => row[1]) };
  });
}

/** An interval as a slice; null where there is none of that number. */
export function sliceOf(intervals: readonly Intervals[], trace: number, id: number): SliceRefMessage | null {
  const [kind, at] = placeOfComputed(id);
  const ts = intervals[kind]?.begin[at];
  if (ts === undefined) return null;
  const dur = intervals[kind]!.dur[at]!;
  return { trace, id, track: COMPUTED + kind, name: OVERLAP_KINDS[kind]!, ts, dur, depth: 0 };
}

/** Those of a kind that touch a window. */
export function slicesIn(
  intervals: readonly Intervals[],
  trace: number,
  kind: number,
  window: TimeWindow,
): SliceRefMessage[] {
  const { begin, dur } = intervals[kind]!;
  return Array.from(begin, (ts, at) => ({ ts, at }))
    .filter(({ ts, at }) => ts < window.end && ts + dur[at]! > window.begin)
    .map(({ at }) => sliceOf(intervals, trace, computedId(kind, at))!);
}

/** Totals of a kind, of each interval what lies in the window. */
export function totalOf(slices: readonly SliceRefMessage[], window: TimeWindow): AreaMessage {
  if (slices.length === 0) return { slices: 0, rows: [] };
  const parts = slices.map(({ ts, dur }) => Math.min(ts + dur, window.end) - Math.max(ts, window.begin));
  const total = parts.reduce((sum, part) => sum + part, 0);
  const [min, max] = [parts.reduce((a, b) => Math.min(a, b)), parts.reduce((a, b) => Math.max(a, b))];
  return {
    slices: slices.length,
    rows: [{ name: slices[0]!.name, count: slices.length, total, self: total, min, max }],
  };
}

/** What of it is drawn: as the zoom index has it, the longest of what begins within a pixel. */
export function laneOf(
  intervals: Intervals,
  trace: number,
  kind: number,
  window: TimeWindow,
  pixel: number,
): LaneWindow {
  const begin: number[] = [];
  const dur: number[] = [];
  const count: number[] = [];
  const id: number[] = [];
  const { begin: all, dur: lengths } = intervals;
  for (let i = 0; i < all.length && all[i]! < window.end; ++i) {
    if (all[i]! + lengths[i]! < window.begin) continue;
    const last = begin.length - 1;
    if (last >= 0 && Math.floor(all[i]! / pixel) === Math.floor(begin[last]! / pixel)) {
      count[last]! += 1;
      if (lengths[i]! > dur[last]!) [begin[last], dur[last], id[last]] = [all[i]!, lengths[i]!, computedId(kind, i)];
      continue;
    }
    begin.push(all[i]!);
    dur.push(lengths[i]!);
    count.push(1);
    id.push(computedId(kind, i));
  }
  return {
    trace,
    track: COMPUTED + kind,
    depth: 0,
    begin: Float64Array.from(begin),
    dur: Float64Array.from(dur),
    id: Int32Array.from(id),
    name: new Int32Array(begin.length).fill(-2 - kind),
    count: Uint32Array.from(count),
  };
}
