import { useApp, useAppState } from "../../app/context";

/** The tip on the object under the mouse. */
export interface Hover {
  x: number;
  y: number;
  name: string;
  text: string;
}

/** The rectangle that is being drawn with the mouse. */
export interface Band {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

interface Properties {
  hover: Hover | null;
  band: Band | null;
  width: number;
  /** Where the scroll bar begins, and what part of the lanes is seen; null: all. */
  scroll: { from: number; part: number } | null;
}

/** What lies over the lanes: scroll bar, selection, tip, and the way back to hidden lanes. */
export function Overlays({ hover, band, width, scroll }: Properties) {
  const { store, t } = useApp();
  const hidden = useAppState((s) => s.hidden);
  return (
    <>
      {scroll && (
        <div className="scrollbar" aria-hidden="true">
          <div style={{ top: `${scroll.from * 100}%`, height: `${scroll.part * 100}%` }} />
        </div>
      )}
      {band && (
        <div
          className="band"
          style={{ left: band.x0, width: band.x1 - band.x0, top: band.y0, height: band.y1 - band.y0 }}
        />
      )}
      {hover && !band && (
        <div className="tip" style={{ left: Math.min(hover.x + 14, width - 340), top: hover.y + 18 }}>
          <b>{hover.name}</b>
          <span>{hover.text}</span>
        </div>
      )}
      {hidden.length > 0 && (
        <button className="hidden-lanes" onClick={() => store.set({ hidden: [] })}>
          {t("lane.hidden", hidden.length)}
        </button>
      )}
    </>
  );
}
