/** The result of a mode of `sonde cluster` on all traces: its tables by name, and its sentences. */
import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api } from "../api/client";
import type { ClusterMessage, ClusterTableMessage, FindingMessage, TableMessage } from "../api/messages";
import { inBaseUnits } from "./baseUnits";
import { useApp, useAppState } from "./context";
import { type Answer, Failure } from "./Failure";
import { showStep } from "./showStep";
import { useVersions } from "./useTable";

export interface OfMode {
  /** Undefined until it is there. */
  message: ClusterMessage | undefined;
  /** Rows of a table, times in nanoseconds; null where it is not there. */
  table: (name: string) => ClusterTableMessage | null;
  /** The trace of a rank. */
  traceOf: ReadonlyMap<number, number>;
  /** Why there is nothing though all answered, in English, or "". */
  missing: string;
  failed: Answer<unknown>;
}

export function useCluster(mode: string): OfMode {
  const language = useAppState((s) => s.language);
  const versions = useVersions();
  const query = useQuery({
    queryKey: ["cluster", mode, language, versions],
    queryFn: versions === "" ? skipToken : ({ signal }) => api.cluster(mode, language, signal),
    placeholderData: keepPreviousData,
  });
  const message = query.data;
  const tables = useMemo(() => new Map(message?.tables.map((table) => [table.name, inBaseUnits(table)])), [message]);
  const traceOf = useMemo(() => new Map(message?.ranks.map(({ rank, trace }) => [rank, trace])), [message]);
  return {
    message,
    table: (name) => tables.get(name) ?? null,
    traceOf,
    missing: message?.missing ?? "",
    failed: query,
  };
}

/** A table of a mode as one that is shown. */
export const answerOf = (table: ClusterTableMessage | null): Answer<TableMessage> => ({
  data: table ? { ...table, elapsed: 0 } : undefined,
  error: null,
});

/** The sentences of modes, each once; a sentence on a rank leads to it. */
export function Sentences({ of }: { of: readonly OfMode[] }) {
  const { store, actions, t } = useApp();
  // Ranks that are still being read are not in it yet.
  const total = useAppState((s) => (s.session!.loading ? s.session!.traces.length : 0));
  const looked = Math.min(...of.map(({ message }) => message?.ranks.length ?? 0));
  const traceOf = of.find(({ traceOf }) => traceOf.size > 0)?.traceOf;
  const sentences = new Map(of.flatMap(({ message }) => message?.findings ?? []).map((f) => [f.text, f]));
  const failed = of.flatMap(({ message }) => message?.ranks.filter(({ error }) => error !== "") ?? []);
  const errors = new Map(failed.map(({ rank, error }) => [rank, error]));
  const notices = new Set(of.flatMap(({ message }) => message?.notices ?? []));
  const weight = ({ severity }: FindingMessage) => ["error", "warning", "info"].indexOf(severity);
  const sorted = [...sentences.values()].sort((a, b) => weight(a) - weight(b));
  return (
    <>
      {of.map(({ failed: answer }, i) => (
        <Failure key={i} of={answer} />
      ))}
      {looked < total && <p className="warn partial">{t("ranks.part", looked, total)}</p>}
      <ul className="findings" data-testid="sentences">
        {sorted.map((finding) => {
          const trace = traceOf?.get(finding.rank);
          return (
            <li key={finding.text} className={`finding ${finding.severity}`}>
              {finding.text}
              {trace !== undefined && (
                <button onClick={() => showStep(trace, finding.step, store, actions)}>{t("serving.show")}</button>
              )}
            </li>
          );
        })}
        {[...errors].map(([rank, error]) => (
          <li key={rank} className="finding error">
            {t("lane.rank", rank)}: {error}
          </li>
        ))}
        {[...notices].map((notice) => (
          <li key={notice} className="finding info muted">
            {notice}
          </li>
        ))}
      </ul>
    </>
  );
}
