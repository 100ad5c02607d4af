import { useEffect, useState } from "react";

import { api } from "../../api/client";
import type { TableMessage } from "../../api/messages";
import { useApp } from "../../app/context";
import type { OfRank } from "../../app/useRanks";
import { computes } from "./steps";

const KEPT = "SELECT count(*) FROM source_table WHERE name = 'step_trace_time'";
const WRITTEN = "SELECT * FROM r0.source.step_trace_time";

/** The breakdown that a profiler wrote beside a trace, by trace: where its own tasks were not kept, so that none
 * can be computed. */
export function useWritten(answers: readonly OfRank[], done: boolean): ReadonlyMap<number, TableMessage> {
  const { actions } = useApp();
  const [written, setWritten] = useState<ReadonlyMap<number, TableMessage>>(new Map());
  useEffect(() => {
    if (!done) return;
    let current = true;
    void (async () => {
      const found = new Map<number, TableMessage>();
      for (const { trace } of answers.filter((answer) => !computes(answer.table))) {
        try {
          const kept = await api.sql(KEPT, trace.id);
          if (Number(kept.rows[0]?.[0] ?? 0) > 0) found.set(trace.id, await api.sql(WRITTEN, trace.id));
        } catch (error) {
          actions.fail(error);
        }
        if (!current) return;
      }
      if (found.size > 0) setWritten(found);
    })();
    return () => {
      current = false;
    };
  }, [answers, done, actions]);
  return written;
}
