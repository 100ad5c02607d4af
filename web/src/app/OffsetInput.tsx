import { useApp, useAppState } from "./context";
import { isShown } from "./traces";

/** 30 days: beyond, one side is mistaken. */
const MOST = 30 * 24 * 3600e9;

/** "1.5 ms", "-20us" or a number of nanoseconds -> nanoseconds; null for anything else. */
export function parseOffset(text: string): number | null {
  const match = /^\s*([+-]?\d*\.?\d+)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
  if (!match) return null;
  const size = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 }[match[2] ?? "ns"]!;
  const offset = Math.round(Number(match[1]) * size);
  return Math.abs(offset) <= MOST ? offset : null;
}

/** How much later each rank is shown than it was. */
export function OffsetInput() {
  const { actions, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const offsets = useAppState((s) => s.offsets);
  return (
    <details className="ignored">
      <summary>{t("offset.title")}</summary>
      <p className="muted">{t("offset.hint")}</p>
      <ul className="offsets">
        {session.traces.filter(isShown).map((trace) => (
          <li key={trace.id}>
            <label>
              <span>{trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name}</span>
              <input
                defaultValue={offsets[trace.id] ? `${offsets[trace.id]} ns` : "0 ns"}
                key={offsets[trace.id] ?? 0}
                aria-label={`${t("offset.title")} ${trace.name}`}
                onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
                onBlur={(event) => {
                  const by = parseOffset(event.target.value);
                  if (by === null) event.target.value = `${offsets[trace.id] ?? 0} ns`;
                  else if (by !== (offsets[trace.id] ?? 0)) void actions.setOffsets({ ...offsets, [trace.id]: by });
                }}
              />
            </label>
          </li>
        ))}
      </ul>
    </details>
  );
}
