/** From a row of any table to the timeline, by its slice_id, or its ts. */
import type { Cell, SessionMessage, TraceMessage } from "../api/messages";
import { api } from "../api/client";
import { sliceIdOfMark } from "../api/marks";
import type { Actions } from "./actions";
import { type Column, kindOf } from "./cells";
import type { Store } from "./state";
import { isReady } from "./traces";

export interface Target {
  trace: number;
  /** Or a mark (marks.ts). */
  slice?: number;
  /** Nanoseconds after the session's base. */
  ts?: number;
}

/**
 * Null where the row leads nowhere. `trace`: the one that was asked, -1 all: then by the row's `trace`, or its `rank`
 * where only one has that.
 */
export function targetOf(
  columns: readonly Column[],
  row: readonly Cell[],
  trace: number,
  session: SessionMessage,
): Target | null {
  const cell = (...names: string[]) => {
    for (const name of names) {
      const at = columns.findIndex((column) => column.name === name);
      if (at >= 0 && row[at] !== null && row[at] !== undefined) return row[at];
    }
    return null;
  };
  const ready = session.traces.filter(isReady);
  const owner = trace >= 0 ? trace : ready.length === 1 ? ready[0]!.id : ownerOf(cell("trace"), cell("rank"), ready);
  if (owner === undefined) return null;
  const declared = (is: (column: Column) => boolean) =>
    columns.filter((column) => column.role !== undefined && is(column)).map(({ name }) => name);
  const slice = cell("slice_id", "owner_slice_id", "launch_slice_id", ...declared(({ space }) => space === "slice"));
  if (typeof slice === "number" && slice >= 0) return { trace: owner, slice };
  const mark = cell("mark_id");
  if (typeof mark === "number") return { trace: owner, slice: sliceIdOfMark(mark) };
  const ts = cell("ts", "start_ns", "alloc_ts", "ts_ns", ...declared((column) => kindOf(column) === "moment"));
  if (ts === null || !/^\d+$/.test(String(ts))) return null;
  return { trace: owner, ts: Number(BigInt(String(ts)) - BigInt(session.base)) + api.offsetOf(owner) };
}

function ownerOf(trace: Cell | undefined, rank: Cell | undefined, ready: readonly TraceMessage[]) {
  if (typeof trace === "number") return ready.find((candidate) => candidate.id === trace)?.id;
  const same = ready.filter((candidate) => candidate.rank === rank);
  return same.length === 1 ? same[0]!.id : undefined;
}

export function jump(target: Target, store: Store, actions: Actions) {
  store.set({ view: "timeline" });
  if (target.slice !== undefined) void actions.select(target.trace, target.slice, true);
  else if (target.ts !== undefined) {
    const { begin, end } = actions.window();
    actions.setWindow({ begin: target.ts - (end - begin) / 2, end: target.ts + (end - begin) / 2 }, true);
  }
}
