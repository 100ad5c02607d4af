import type { ComponentType } from "react";

import { useApp, useAppState } from "../../app/context";
import type { Panel } from "../../app/state";
import type { TextKey } from "../../i18n";
import { AreaPanel } from "./AreaPanel";
import { DetailsPanel } from "./DetailsPanel";
import { FlamePanel } from "./FlamePanel";
import { MarksPanel } from "./MarksPanel";
import { SearchPanel } from "./SearchPanel";

/** The panels below the lanes, one line each. */
const panels: readonly [Panel, TextKey, ComponentType][] = [
  ["details", "panel.details", DetailsPanel],
  ["area", "panel.area", AreaPanel],
  ["flame", "panel.flame", FlamePanel],
  ["search", "panel.search", SearchPanel],
  ["marks", "panel.marks", MarksPanel],
];

export function Drawer() {
  const { store, t } = useApp();
  const panel = useAppState((s) => s.panel);
  const isOpen = useAppState((s) => s.drawer);
  const Shown = panels.find(([name]) => name === panel)![2];
  return (
    <section className={isOpen ? "drawer" : "drawer shut"}>
      <div className="tabs" role="tablist">
        {panels.map(([name, title]) => (
          <button
            key={name}
            role="tab"
            aria-selected={isOpen && name === panel}
            onClick={() => store.set({ panel: name, drawer: true })}
          >
            {t(title)}
          </button>
        ))}
        <span className="grow" />
        {!isOpen && <span className="hint-line">{t("panel.empty")}</span>}
        <button
          aria-label={t("key.drawer")}
          title={`${t("key.drawer")} (Q)`}
          onClick={() => store.set({ drawer: !isOpen })}
        >
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      {isOpen && (
        <div className="panel-body">
          <Shown />
        </div>
      )}
    </section>
  );
}
