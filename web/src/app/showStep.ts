/** From a rank and a number of a step to the timeline. */
import { api } from "../api/client";
import type { Actions } from "./actions";
import type { Store } from "./state";

/** The whole trace where it has no such step. */
export function showStep(trace: number, step: number, store: Store, actions: Actions): void {
  const whole = () => {
    const found = store.get().session?.traces[trace];
    store.set({ view: "timeline", folded: store.get().folded.filter((key) => key !== String(trace)) });
    if (found) actions.setWindow({ begin: found.begin, end: Math.max(found.end, found.begin + 1) }, true);
  };
  if (step < 0) return whole();
  const base = store.get().session!.base;
  // The first of that number: ranks of a server's engines number theirs alike.
  const sql = `SELECT slice_id, ts - ${base}, dur FROM step WHERE step_id = ${step} ORDER BY ts LIMIT 1`;
  api.sql(sql, trace).then(({ rows }) => {
    const [slice, ts, dur] = rows[0] ?? [];
    if (typeof slice === "number" && slice >= 0) void actions.select(trace, slice, true, true);
    else if (ts === undefined || ts === null) whole();
    else {
      const begin = Number(ts) + api.offsetOf(trace);
      store.set({ view: "timeline" });
      actions.setWindow({ begin, end: begin + Math.max(1, Number(dur)) }, true);
    }
  }, actions.fail);
}
