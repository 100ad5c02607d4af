/** Lanes of the overlap analysis where the trace brings none: computed by the recipe. Pure. */
import type { TableMessage } from "../../api/messages";
import type { LaneWindow } from "../../api/decode";
import { columnOf } from "../../app/columns";
import type { TimeWindow } from "./viewport";

export const OVERLAP_KINDS = ["Computing", "Communication", "Communication(Not Overlapped)", "Free"] as const;

/** Track ids from here on are lanes of ours; their slices have no number. */
export const COMPUTED = 1_000_000_000;

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
  const { begin: all, dur: lengths } = intervals;
  for (let i = 0; i < all.length && all[i]! < window.end; ++i) {
    if (all[i]! + lengths[i]! < window.begin) continue;
    const last = begin.length - 1;
    if (last >= 0 && Math.floor(all[i]! / pixel) === Math.floor(begin[last]! / pixel)) {
      count[last]! += 1;
      if (lengths[i]! > dur[last]!) [begin[last], dur[last]] = [all[i]!, lengths[i]!];
      continue;
    }
    begin.push(all[i]!);
    dur.push(lengths[i]!);
    count.push(1);
  }
  return {
    trace,
    track: COMPUTED + kind,
    depth: 0,
    begin: Float64Array.from(begin),
    dur: Float64Array.from(dur),
    id: new Int32Array(begin.length).fill(-1),
    name: new Int32Array(begin.length).fill(-2 - kind),
    count: Uint32Array.from(count),
  };
}
