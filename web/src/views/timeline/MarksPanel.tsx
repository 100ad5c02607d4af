import { useApp, useAppState } from "../../app/context";
import { formatDuration, formatExact } from "../../base/format";
import { spanOf } from "./viewport";

export function MarksPanel() {
  const { store, actions, t, theme } = useApp();
  const marks = useAppState((s) => s.marks);
  if (marks.length === 0) return <p className="hint">{t("panel.marks.empty")}</p>;
  const zero = actions.data().begin;
  const change = (at: number, part: { name?: string; color?: number }) =>
    store.set({ marks: marks.map((m, i) => (i === at ? { ...m, ...part } : m)) });
  const go = (begin: number, end: number) => {
    const span = end > begin ? (end - begin) * 1.4 : spanOf(actions.window());
    const middle = (begin + end) / 2;
    actions.setWindow({ begin: middle - span / 2, end: middle + span / 2 }, true);
  };
  return (
    <ul className="marks" data-testid="marks">
      <li>
        <button onClick={() => store.set({ marks: [] })}>{t("mark.clear")}</button>
      </li>
      {marks.map((mark, i) => (
        <li key={i}>
          <button
            className="swatch"
            title={t("mark.color")}
            aria-label={t("mark.color")}
            style={{ background: theme.bars[mark.color % theme.bars.length] }}
            onClick={() => change(i, { color: (mark.color + 1) % theme.bars.length })}
          />
          <button className="link" onClick={() => go(mark.begin, mark.end)}>
            {formatExact(mark.begin - zero)}
          </button>
          <input
            aria-label={t("mark.name")}
            value={mark.name}
            onChange={(event) => change(i, { name: event.target.value })}
          />
          <small>{mark.end > mark.begin ? formatDuration(mark.end - mark.begin) : ""}</small>
          <button onClick={() => store.set({ marks: marks.filter((_, at) => at !== i) })}>{t("mark.delete")}</button>
        </li>
      ))}
    </ul>
  );
}
