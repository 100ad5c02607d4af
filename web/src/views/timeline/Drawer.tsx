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

const [USUAL, LEAST] = [264, 80];

/** The upper edge of the panel, by which it is made higher or lower. */
function Edge({ height }: { height: number }) {
  const { store, t } = useApp();
  const most = () => Math.max(LEAST, window.innerHeight - 220);
  const setHeight = (next: number) =>
    store.set({
      detail: { ...store.get().detail, drawer: String(Math.round(Math.min(most(), Math.max(LEAST, next)))) },
    });
  return (
    <div
      className="edge"
      role="separator"
      aria-orientation="horizontal"
      aria-label={t("panel.height")}
      aria-valuenow={height}
      aria-valuemin={LEAST}
      aria-valuemax={most()}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        setHeight(event.currentTarget.parentElement!.getBoundingClientRect().bottom - event.clientY);
      }}
      onDoubleClick={() => setHeight(USUAL)}
      onKeyDown={(event) => {
        const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        setHeight(height + step);
      }}
    />
  );
}

export function Drawer() {
  const { store, t } = useApp();
  const height = useAppState((s) => Number(s.detail["drawer"]) || USUAL);
  const panel = useAppState((s) => s.panel);
  const isOpen = useAppState((s) => s.drawer);
  const Shown = panels.find(([name]) => name === panel)![2];
  return (
    <section className={isOpen ? "drawer" : "drawer shut"} style={isOpen ? { height } : {}}>
      {isOpen && <Edge height={height} />}
      <div className="tabs">
        <div role="tablist">
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
        </div>
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
