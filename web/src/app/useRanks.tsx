/** Results of recipes over all traces, by one request for all of which they are not here yet. */
import { type QueryClient, keepPreviousData, skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { ApiError, api } from "../api/client";
import type { TableMessage, TraceMessage } from "../api/messages";
import { useApp, useAppState } from "./context";
import type { Answer } from "./Failure";
import { isReady } from "./traces";

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
  /** Notices on all of them, a line each. */
  notices: readonly string[];
  failed: Answer<unknown> | undefined;
}

type Part = ({ table: TableMessage } | { error: string }) & { notices: readonly string[] };

/** What was asked of a trace as it is stays known; `whole`: among all others. */
const keyOf = (recipe: string, { id, state, version }: TraceMessage, whole: boolean) => [
  "part",
  recipe,
  id,
  state,
  version,
  whole,
];

/** Asks until each trace has its part; an answer that grew too long leaves some out. */
export async function askParts(
  client: QueryClient,
  recipe: string,
  traces: readonly TraceMessage[],
  whole: boolean,
  signal?: AbortSignal,
): Promise<Map<number, Part>> {
  const known = (trace: TraceMessage) => client.getQueryData<Part>(keyOf(recipe, trace, whole));
  for (;;) {
    const missing = traces.filter((trace) => !known(trace));
    if (missing.length === 0) break;
    const answer = await api.results(
      missing.map(({ id }) => id),
      recipe,
      signal,
    );
    const byId = new Map(answer.parts.map((part) => [part.trace, part]));
    for (const trace of missing) {
      const part = byId.get(trace.id);
      if (!part) continue;
      const { rows, complete, error } = part;
      const { columns, notices } = answer;
      const made: Part = error ? { error, notices } : { table: { columns, rows, complete, elapsed: 0 }, notices };
      client.setQueryData(keyOf(recipe, trace, whole), made);
    }
    if (answer.parts.length === 0) throw new ApiError(`${recipe}: no answer`);
  }
  return new Map(traces.map((trace) => [trace.id, known(trace)!]));
}

/**
 * The same result of every trace, the lowest rank first; grows as traces become ready.
 * `together`: the rows of one depend on the others, and are requested again once all are there.
 */
export function useRanks(recipe: string, together = false): OfRanks {
  const { t } = useApp();
  const client = useQueryClient();
  const traces = useAppState((s) => s.session!.traces);
  const ready = useMemo(() => traces.filter(isReady).sort((a, b) => a.rank - b.rank || a.id - b.id), [traces]);
  const whole = together && traces.every((trace) => isReady(trace) || trace.state === "failed");
  const query = useQuery({
    queryKey: ["results", recipe, whole, ready.map(({ id, state, version }) => `${id}${state}${version}`).join()],
    queryFn: ready.length > 0 ? ({ signal }) => askParts(client, recipe, ready, whole, signal) : skipToken,
    placeholderData: keepPreviousData,
  });
  const parts = query.data;
  const answers = useMemo(
    () =>
      ready.flatMap((trace) => {
        const part = parts?.get(trace.id);
        if (!part || "error" in part) return [];
        return [{ trace, label: trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name, table: part.table }];
      }),
    [ready, parts, t],
  );
  const notices = useMemo(() => [...new Set(ready.flatMap(({ id }) => parts?.get(id)?.notices ?? []))], [ready, parts]);
  const errors = [...(parts?.values() ?? [])].flatMap((part) => ("error" in part ? [part.error] : []));
  const total = traces.filter((trace) => trace.state !== "failed").length;
  return {
    answers,
    done: ready.length === 0 || (!query.isPending && !query.isPlaceholderData),
    missing: total - answers.length,
    total,
    cut: answers.some(({ table }) => !table.complete),
    notices,
    failed: query.error ? query : errors.length > 0 ? { data: undefined, error: new ApiError(errors[0]!) } : undefined,
  };
}

/** Shown next to sums over ranks as long as some are not in them. */
export function Partial({ of: { missing, total, cut } }: { of: Pick<OfRanks, "missing" | "total" | "cut"> }) {
  const { t } = useApp();
  const parts = [missing > 0 ? t("ranks.part", total - missing, total) : "", cut ? t("ranks.cut") : ""];
  return parts.filter(Boolean).join(" · ") || null;
}
