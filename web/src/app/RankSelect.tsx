import type { TraceMessage } from "../api/messages";
import { traceName } from "../views/timeline/lanes";
import { useApp, useAppState } from "./context";
import { isReady } from "./traces";

/** A choice of one of the traces, or of -1 where that has a name. */
export function TraceSelect(of: {
  label: string;
  value: number;
  traces: readonly TraceMessage[];
  none?: string | undefined;
  choose: (id: string) => void;
}) {
  return (
    <label>
      {of.label}{" "}
      <select value={of.value} onChange={(event) => of.choose(event.target.value)}>
        {of.none !== undefined && <option value={-1}>{of.none}</option>}
        {of.traces.map((trace) => (
          <option key={trace.id} value={trace.id}>
            {trace.rank >= 0 ? `${trace.rank} · ` : ""}
            {traceName(trace, of.traces)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Which trace a view shows, kept in the address; -1 is all, where `all` allows it. */
export function useRank(all: boolean): [number, React.ReactNode] {
  const { store, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const detail = useAppState((s) => s.detail);
  const ready = session.traces.filter(isReady);
  const first = ready.reduce((best, trace) => (best && best.rank <= trace.rank ? best : trace), ready[0]);
  const chosen = Number(detail["rank"] ?? (all && ready.length > 1 ? -1 : (first?.id ?? 0)));
  const known = chosen < 0 ? all && ready.length > 1 : ready.some((trace) => trace.id === chosen);
  const rank = known ? chosen : (first?.id ?? 0);
  const select = ready.length > 1 && (
    <TraceSelect
      label={t("tables.rank")}
      value={rank}
      traces={ready}
      none={all ? t("tables.all") : undefined}
      choose={(id) => store.set({ detail: { ...store.get().detail, rank: id } })}
    />
  );
  return [rank, select];
}
