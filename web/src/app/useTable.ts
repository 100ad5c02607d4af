/** Tables that the server answers, kept by the query library: asked once, cancelled when nobody waits any more. */
import { QueryClient, skipToken, useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { api } from "../api/client";
import type { SchemaTableMessage, SessionMessage, TableMessage } from "../api/messages";
import { useAppState } from "./context";
import type { Answer } from "./Failure";
import type { Filter } from "./filter";
import type { LazyRows } from "./Grid";
import { PAGE, type Sort, countStatement, pageStatement, rowsStatement } from "./pages";
import { isReady } from "./traces";

export type Question = { sql: string; trace: number; limit?: number } | { recipe: string; trace: number };

/** Answers of the server on a trace do not change, and a refusal is final. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: Infinity, retry: false, refetchOnWindowFocus: false, networkMode: "always" },
    },
  });
}

/** So many may come one by one without a question over all growing dear. */
const FEW = 16;

/** Changes when the traces that answer do: a preview is exchanged for the whole. Over many that are being read it
 * changes when they have doubled, and when all are there. */
export function versionsOf(session: SessionMessage | null, trace = -1): string {
  const answering = (session?.traces ?? []).filter((one) => (trace < 0 ? isReady(one) : one.id === trace));
  if (trace < 0 && session?.loading && answering.length > FEW) return `part ${Math.floor(Math.log2(answering.length))}`;
  return answering.map((one) => `${one.id}${one.state}${one.version}`).join();
}

export const useVersions = (trace = -1): string => useAppState((s) => versionsOf(s.session, trace));

export function ask(question: Question, signal: AbortSignal): Promise<TableMessage> {
  return "sql" in question
    ? api.sql(question.sql, question.trace, question.limit, signal)
    : api.recipe(question.trace, question.recipe, signal);
}

export function useTable(question: Question | null): Answer<TableMessage> {
  const versions = useVersions(question?.trace);
  // Nothing answers yet.
  const isEarly = useAppState((s) => versions === "" && s.session?.loading === true);
  return useQuery({
    queryKey: ["table", question, versions],
    queryFn: question && !isEarly ? ({ signal }) => ask(question, signal) : skipToken,
  });
}

/** The tables that statements may name. */
export function useSchema(): Answer<SchemaTableMessage[]> {
  const versions = useVersions();
  return useQuery({ queryKey: ["schema", versions], queryFn: api.schema });
}

const pageOf = (at: number) => Math.floor(at / PAGE);

/** The rows of a statement page by page; null where `table` holds all of them. */
export function usePages(
  table: TableMessage | undefined,
  sql: string | undefined,
  trace: number,
  filter: Filter,
  sort: Sort | null,
  onSort: (sort: Sort) => void,
): { rows: LazyRows | null; failed: Answer<unknown> | undefined } {
  const [[first, last], setSeen] = useState([0, 0]);
  const versions = useVersions(trace);
  const isPaged = table !== undefined && !table.complete && sql !== undefined;
  const rows = isPaged ? rowsStatement(sql, table.columns, filter, sort) : "";
  const counting = isPaged ? countStatement(sql, table.columns, filter) : "";
  const count = useQuery({
    queryKey: ["count", counting, trace, versions],
    queryFn: isPaged ? ({ signal }) => api.sql(counting, trace, 1, signal) : skipToken,
  });
  const numbers = useMemo(
    () => (isPaged ? Array.from({ length: last - first + 1 }, (_, i) => first + i) : []),
    [isPaged, first, last],
  );
  const pages = useQueries({
    queries: numbers.map((page) => ({
      queryKey: ["page", rows, page, trace, versions],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.sql(pageStatement(rows, page), trace, PAGE, signal),
    })),
  });
  const lazy = !isPaged
    ? null
    : {
        count: Number(count.data?.rows[0]?.[0] ?? 0),
        row: (at: number) => pages[pageOf(at) - first]?.data?.rows[at % PAGE] ?? null,
        seen: (from: number, to: number) => {
          const next = [pageOf(from), pageOf(Math.max(from, to - 1))] as const;
          setSeen((now) => (now[0] === next[0] && now[1] === next[1] ? now : [...next]));
        },
        sort,
        onSort,
      };
  return { rows: lazy, failed: [count, ...pages].find((query) => query.error !== null) };
}
