import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import type { TableMessage, TraceMessage } from "../api/messages";
import { useApp, useAppState } from "./context";
import type { Answer } from "./Failure";
import { isReady } from "./traces";
import { ask } from "./useTable";

export interface OfRank {
  trace: TraceMessage;
  label: string;
  table: TableMessage;
}

export interface OfRanks {
  answers: OfRank[];
  /** All that were asked have answered. */
  done: boolean;
  /** Traces whose answer is not there, of so many: those that are still being read count. */
  missing: number;
  total: number;
  /** An answer was longer than what is sent of it. */
  cut: boolean;
  failed: Answer<unknown> | undefined;
}

/** The same question to every trace, the lowest rank first; grows as answers come. */
export function useRanks(question: { sql: string } | { recipe: string }): OfRanks {
  const { t } = useApp();
  const traces = useAppState((s) => s.session!.traces);
  const ready = useMemo(() => traces.filter(isReady).sort((a, b) => a.rank - b.rank || a.id - b.id), [traces]);
  const queries = useQueries({
    queries: ready.map((trace) => {
      const asked = { ...question, trace: trace.id, ...("sql" in question ? { limit: 20_000 } : {}) };
      return {
        queryKey: ["table", asked, `${trace.id}${trace.state}${trace.version}`],
        queryFn: ({ signal }: { signal: AbortSignal }) => ask(asked, signal),
      };
    }),
  });
  const stamp = queries.map((query) => query.dataUpdatedAt).join();
  const answers = useMemo(
    () =>
      ready.flatMap((trace, i) => {
        const table = queries[i]?.data;
        return table ? [{ trace, label: trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name, table }] : [];
      }),
    [ready, stamp, t], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const total = traces.filter((trace) => trace.state !== "failed").length;
  return {
    answers,
    done: queries.every((query) => !query.isPending),
    missing: total - answers.length,
    total,
    cut: answers.some(({ table }) => !table.complete),
    failed: queries.find((query) => query.error !== null),
  };
}

/** Said beside sums over ranks as long as some are not in them. */
export function Partial({ of: { missing, total, cut } }: { of: Pick<OfRanks, "missing" | "total" | "cut"> }) {
  const { t } = useApp();
  const parts = [missing > 0 ? t("ranks.part", total - missing, total) : "", cut ? t("ranks.cut") : ""];
  return parts.filter(Boolean).join(" · ") || null;
}
