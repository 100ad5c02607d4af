import { useMemo } from "react";

import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { isShown } from "../../app/traces";
import type { View } from "../../app/view";
import { Apart } from "./Apart";
import { Drawer } from "./Drawer";
import { Lanes } from "./Lanes";
import { Overview } from "./Overview";
import { GUTTER } from "./scene";

/** The whole of all traces as a strip, with the window that is seen. */
export function Strip() {
  const { actions } = useApp();
  const session = useAppState((s) => s.session)!;
  const chosen = useAppState((s) => s.window);
  const data = useMemo(() => actions.data(), [actions, session]); // eslint-disable-line react-hooks/exhaustive-deps
  return <Overview data={data} window={chosen ?? data} gutter={GUTTER} onChange={(w) => actions.setWindow(w)} />;
}

export function Timeline() {
  const { t } = useApp();
  const isDrawn = useAppState((s) => s.session!.traces.some(isShown));
  if (!isDrawn) return <Empty title={t("timeline.none")} help={t("timeline.none.help")} />;
  return (
    <div className="timeline">
      <Apart />
      <Strip />
      <Lanes label={t("view.timeline")} testId="timeline" hasKeys />
      <Drawer />
    </div>
  );
}

export const timelineView: View = { name: "timeline", title: "view.timeline", component: Timeline };
