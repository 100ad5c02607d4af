/** Offsets of ranks: the page shows a trace later by its offset; the server knows nothing of it.
 * What goes to the server is moved back, what comes is moved on. Pure but for the table itself. */
import type { LaneWindow } from "./decode";
import type { AreaMessage, SessionMessage, SliceListMessage, SliceMessage, SliceRefMessage } from "./messages";

export type Offsets = Readonly<Record<number, number>>;

export function shiftSession(session: SessionMessage, offsets: Offsets): SessionMessage {
  return {
    ...session,
    traces: session.traces.map((trace) => {
      const by = offsets[trace.id] ?? 0;
      return by === 0 ? trace : { ...trace, begin: trace.begin + by, end: trace.end + by };
    }),
  };
}

export function shiftRef(slice: SliceRefMessage, offsets: Offsets): SliceRefMessage {
  const by = offsets[slice.trace] ?? 0;
  return by === 0 ? slice : { ...slice, ts: slice.ts + by };
}

export function shiftSlice(slice: SliceMessage, offsets: Offsets): SliceMessage {
  return {
    ...slice,
    slice: shiftRef(slice.slice, offsets),
    ancestors: slice.ancestors.map((ref) => shiftRef(ref, offsets)),
    flows: slice.flows.map((flow) => ({ ...flow, slice: shiftRef(flow.slice, offsets) })),
  };
}

export function shiftList(list: SliceListMessage, offsets: Offsets): SliceListMessage {
  const slices = list.slices.map((ref) => shiftRef(ref, offsets));
  return { ...list, slices: slices.sort((a, b) => a.ts - b.ts) };
}

export function shiftWindow(lane: LaneWindow, offsets: Offsets): LaneWindow {
  const by = offsets[lane.trace] ?? 0;
  return by === 0 ? lane : { ...lane, begin: lane.begin.map((ts) => ts + by) };
}

/** Lanes that are shown with the same offset, with that offset. */
export function byOffset<Lane extends { trace: number }>(lanes: readonly Lane[], offsets: Offsets): [number, Lane[]][] {
  const groups = new Map<number, Lane[]>();
  for (const lane of lanes) {
    const by = offsets[lane.trace] ?? 0;
    groups.set(by, [...(groups.get(by) ?? []), lane]);
  }
  return [...groups];
}

export function mergeAreas(areas: readonly AreaMessage[]): AreaMessage {
  if (areas.length === 1) return areas[0]!;
  const rows = new Map<string, AreaMessage["rows"][number]>();
  for (const row of areas.flatMap((area) => area.rows)) {
    const known = rows.get(row.name);
    if (!known) rows.set(row.name, { ...row });
    else {
      known.count += row.count;
      known.total += row.total;
      known.self += row.self;
      known.min = Math.min(known.min, row.min);
      known.max = Math.max(known.max, row.max);
    }
  }
  return {
    slices: areas.reduce((sum, area) => sum + area.slices, 0),
    rows: [...rows.values()].sort((a, b) => b.total - a.total),
  };
}
