import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { api } from "../../api/client";
import type { TableMessage } from "../../api/messages";
import type { Answer } from "../../app/Failure";
import type { OfRank } from "../../app/useRanks";
import { computes } from "./steps";

const KEPT = "SELECT count(*) FROM source_table WHERE name = 'step_trace_time'";
const WRITTEN = "SELECT * FROM r0.source.step_trace_time";

async function written(trace: number): Promise<TableMessage | null> {
  const kept = await api.sql(KEPT, trace);
  return Number(kept.rows[0]?.[0] ?? 0) > 0 ? api.sql(WRITTEN, trace) : null;
}

/** The breakdown that a profiler wrote beside a trace, by trace: where its own tasks were not kept, so that none
 * can be computed. */
export function useWritten(answers: readonly OfRank[], done: boolean) {
  const wanted = useMemo(() => (done ? answers.filter((answer) => !computes(answer.table)) : []), [answers, done]);
  const queries = useQueries({
    queries: wanted.map(({ trace }) => ({
      queryKey: ["written", trace.id, trace.version],
      queryFn: () => written(trace.id),
    })),
  });
  const stamp = queries.map((query) => query.dataUpdatedAt).join();
  const tables = useMemo(
    () => new Map(wanted.flatMap(({ trace }, i) => (queries[i]?.data ? [[trace.id, queries[i].data] as const] : []))),
    [wanted, stamp], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const failed: Answer<unknown> | undefined = queries.find((query) => query.error !== null);
  return { tables, failed };
}
