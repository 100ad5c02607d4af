import { useMemo } from "react";

import type { TraceMessage } from "../../api/messages";
import { useAppState } from "../../app/context";
import { useTable } from "../../app/useTable";
import { type Step, chosenSteps, stepStatement, stepsOf } from "./steps";

export interface Pair {
  base: TraceMessage;
  comparison: TraceMessage;
}

function useOwn({ id, begin, end }: TraceMessage): { steps: Step[] | null; failed: ReturnType<typeof useTable> } {
  const base = useAppState((s) => s.session!.base);
  const offset = useAppState((s) => s.offsets[id] ?? 0);
  const table = useTable({ sql: stepStatement(base), trace: id, limit: 10_000 });
  const steps = useMemo(
    () => (table.data ? stepsOf(table.data.rows, { begin: begin - offset, end: end - offset }) : null),
    [table.data, begin, end, offset],
  );
  return { steps, failed: table };
}

/** Which steps were chosen of this pair, in the address. */
export const stepKey = ({ base, comparison }: Pair) => `compare.steps.${base.id}.${comparison.id}`;

/** The steps of both sides and which are looked at; null until they are known. */
export function useSteps(pair: Pair) {
  const chosen = useAppState((s) => s.detail[stepKey(pair)]);
  const base = useOwn(pair.base);
  const comparison = useOwn(pair.comparison);
  const failed = [base.failed, comparison.failed];
  if (!base.steps || !comparison.steps) return { failed, known: null };
  const at = chosenSteps(chosen, base.steps, comparison.steps);
  return { failed, known: { base: base.steps, comparison: comparison.steps, at } };
}
