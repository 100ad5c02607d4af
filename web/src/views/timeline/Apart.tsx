import { useApp, useAppState } from "../../app/context";
import { farApart } from "../../app/traces";
import { formatDuration } from "../../base/format";

/** Offers to show traces from a common begin where their clocks have nothing to do with each other. */
export function Apart() {
  const { actions, t } = useApp();
  const apart = useAppState((s) => farApart(s.session?.traces ?? []));
  if (apart === 0) return null;
  return (
    <div className="apart" role="status">
      {t("timeline.apart", formatDuration(apart))}
      <button onClick={actions.alignStarts}>{t("command.alignstarts")}</button>
    </div>
  );
}
