import { useApp, useAppState } from "./context";
import { traceName } from "../views/timeline/lanes";
import { isReady } from "./traces";

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
    <label>
      {t("tables.rank")}{" "}
      <select
        value={rank}
        onChange={(event) => store.set({ detail: { ...store.get().detail, rank: event.target.value } })}
      >
        {all && <option value={-1}>{t("tables.all")}</option>}
        {ready.map((trace) => (
          <option key={trace.id} value={trace.id}>
            {trace.rank >= 0 ? `${trace.rank} · ` : ""}
            {traceName(trace, ready)}
          </option>
        ))}
      </select>
    </label>
  );
  return [rank, select];
}
