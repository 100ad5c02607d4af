import { useEffect, useState } from "react";

import { api } from "../api/client";
import type { TableMessage, TraceMessage } from "../api/messages";
import { useApp, useAppState } from "./context";
import { isReady } from "./traces";

export interface OfRank {
  trace: TraceMessage;
  label: string;
  table: TableMessage;
}

/** The same question to every trace, the lowest rank first; grows as answers come. */
export function useRanks(question: { sql: string } | { recipe: string }): { answers: OfRank[]; done: boolean } {
  const { actions, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const [answers, setAnswers] = useState<OfRank[]>([]);
  const [done, setDone] = useState(false);
  const key = JSON.stringify(question);
  const versions = session.traces.map((trace) => `${trace.state}${trace.version}`).join();
  useEffect(() => {
    let current = true;
    const ready = session.traces.filter(isReady).sort((a, b) => a.rank - b.rank || a.id - b.id);
    const asked = JSON.parse(key) as typeof question;
    setDone(false);
    void (async () => {
      const all: OfRank[] = [];
      // One after another: each loads its trace once.
      for (const trace of ready) {
        try {
          const table =
            "sql" in asked ? await api.sql(asked.sql, trace.id, 20_000) : await api.recipe(trace.id, asked.recipe);
          all.push({ trace, label: trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name, table });
        } catch (error) {
          actions.fail(error);
        }
        if (!current) return;
        setAnswers([...all]);
      }
      setDone(true);
    })();
    return () => {
      current = false;
    };
  }, [key, versions, actions, t]); // eslint-disable-line react-hooks/exhaustive-deps
  return { answers, done };
}
