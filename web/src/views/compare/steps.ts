/** Steps of two traces, and how they are brought under each other. Nanoseconds after the session's base. Pure. */
import type { Cell } from "../../api/messages";
import type { TimeWindow } from "../timeline/viewport";

export interface Step {
  /** Its number; null: the trace has no steps, this is all of it. */
  number: string | null;
  begin: number;
  dur: number;
}

export const MOST_STEPS = 5000;

export function stepStatement(base: string): string {
  return `SELECT step_id, ts - ${base} AS ts, dur FROM step WHERE dur >= 0 ORDER BY ts, step_id LIMIT ${MOST_STEPS}`;
}

/** As the trace has them, without an offset; `whole` where it has none. */
export function stepsOf(rows: readonly Cell[][], whole: TimeWindow): Step[] {
  if (rows.length === 0) return [{ number: null, begin: whole.begin, dur: whole.end - whole.begin }];
  return rows.map(([number, begin, dur]) => ({ number: String(number), begin: Number(begin), dur: Number(dur) }));
}

/** Places in the lists of steps: as chosen, else the first number that both have and that is not the first of them,
 * which is often a warm-up; else the first ones. */
export function chosenSteps(text: string | undefined, base: readonly Step[], comparison: readonly Step[]) {
  const [a, b] = (text ?? "").split(",").map(Number);
  if (text && base[a!] && comparison[b!]) return { base: a!, comparison: b!, isChosen: true };
  const common = comparison.flatMap(({ number }, at) => {
    const other = number === null ? -1 : base.findIndex((step) => step.number === number);
    return other < 0 ? [] : [{ base: other, comparison: at }];
  });
  return { ...(common[1] ?? common[0] ?? { base: 0, comparison: 0 }), isChosen: false };
}

/** How much later the base is shown so that its step begins with the other one, and the window that has both. */
export function alignment(base: Step, comparison: Step, offset: number): { offset: number; window: TimeWindow } {
  const begin = comparison.begin + offset;
  const span = Math.max(base.dur, comparison.dur, 1);
  const room = span / 20;
  return { offset: begin - base.begin, window: { begin: begin - room, end: begin + span + room } };
}
