import { useApp, useAppState } from "../../app/context";
import { formatDuration, formatExact } from "../../base/format";
import { spanOf } from "./viewport";

export function MarksPanel() {
  const { store, actions, t } = useApp();
  const marks = useAppState((s) => s.marks);
  if (marks.length === 0) return <p className="hint">{t("panel.marks.empty")}</p>;
  const zero = actions.data().begin;
  const change = (at: number, name: string) =>
    store.set({ marks: marks.map((m, i) => (i === at ? { ...m, name } : m)) });
  const go = (begin: number, end: number) => {
    const span = end > begin ? (end - begin) * 1.4 : spanOf(actions.window());
    const middle = (begin + end) / 2;
    actions.setWindow({ begin: middle - span / 2, end: middle + span / 2 }, true);
  };
  return (
    <ul className="marks" data-testid="marks">
      {marks.map((mark, i) => (
        <li key={i}>
          <button className="link" onClick={() => go(mark.begin, mark.end)}>
            {formatExact(mark.begin - zero)}
          </button>
          <input aria-label={t("mark.name")} value={mark.name} onChange={(event) => change(i, event.target.value)} />
          <small>{mark.end > mark.begin ? formatDuration(mark.end - mark.begin) : ""}</small>
          <button onClick={() => store.set({ marks: marks.filter((_, at) => at !== i) })}>{t("mark.delete")}</button>
        </li>
      ))}
    </ul>
  );
}
