import { type Dispatch, type SetStateAction, useEffect } from "react";

import type { SliceRefMessage } from "../../api/messages";
import { useApp } from "../../app/context";
import { DEPTH_HEIGHT, buildRows, groupsOf, laneStartsFolded, placeRows, toggleFold } from "./lanes";
import { COMPUTED } from "./overlap";
import { RULER } from "./scene";

/** A slice that was jumped to comes into view: what hides it is unfolded, and the lanes are scrolled. */
export function useReveal(height: number, setScroll: Dispatch<SetStateAction<number>>, isWhole: boolean) {
  const { store, t } = useApp();
  useEffect(() => {
    // Panes of one trace leave it to the timeline, which opens then.
    if (!isWhole) return undefined;
    const reveal = (event: Event) => {
      const target = (event as CustomEvent<SliceRefMessage>).detail;
      requestAnimationFrame(() => {
        const state = store.get();
        const all = buildRows(state.session!, state, t);
        const group = groupsOf(state.session!.traces[target.trace]!, t).find((g) =>
          g.tracks.some((track) => track.id === target.track),
        );
        const row = all.find((r) => r.kind !== "group" && r.trace === target.trace && r.track === target.track);
        if (!row && group) {
          const open = state.folded.filter((k) => k !== group.key && k !== String(target.trace));
          store.set({ folded: group.family === "counter" ? [...open, `+${group.key}`] : open });
          return;
        }
        if (!row && target.track >= COMPUTED) {
          store.set({ folded: toggleFold(state.folded, `${target.trace}/computed`, true) });
          window.dispatchEvent(new CustomEvent("sonde-reveal", { detail: target }));
        }
        if (!row) return;
        // A folded lane that hides the slice is unfolded, and comes here again.
        const owner = state.session!.traces[target.trace]!.tracks.find((track) => track.id === target.track);
        if (row.folded && owner && target.depth >= row.depths) {
          store.set({ folded: toggleFold(state.folded, row.key, laneStartsFolded(owner)) });
          window.dispatchEvent(new CustomEvent("sonde-reveal", { detail: target }));
          return;
        }
        const { stuck } = placeRows(all, 0, height - RULER);
        if (row.pinned && stuck > 0) return; // It is in view.
        const y = row.y + target.depth * row.bar;
        setScroll((now) =>
          y < now + stuck || y + DEPTH_HEIGHT * 2 > now + height - RULER ? Math.max(0, y - (height - RULER) / 2) : now,
        );
      });
    };
    window.addEventListener("sonde-reveal", reveal);
    return () => window.removeEventListener("sonde-reveal", reveal);
  }, [store, t, height, setScroll, isWhole]);
}
