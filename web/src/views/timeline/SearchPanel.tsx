import { useApp, useAppState } from "../../app/context";
import { formatCount } from "../../base/format";
import { SliceTable } from "./AreaPanel";

export function SearchPanel() {
  const { actions, t } = useApp();
  const hits = useAppState((s) => s.hits);
  const hit = useAppState((s) => s.hit);
  if (!hits) return <p className="hint">{t("search.hint")}: /</p>;
  if (hits.total === 0) return <p className="hint">{t("search.none")}</p>;
  return (
    <div className="column wide">
      {hits.slices.length < hits.total && (
        <div className="caption">{t("search.first", formatCount(hits.slices.length), formatCount(hits.total))}</div>
      )}
      <SliceTable
        full
        name="hits"
        testId="hits"
        slices={hits.slices}
        selected={hit}
        onSlice={(_, at) => actions.goToHit(at)}
      />
    </div>
  );
}
