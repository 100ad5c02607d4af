import type { TimeWindow } from "./viewport";

/** What a drag does: as in the ecosystem's viewer, with plain dragging for panning. */
export interface Gesture {
  kind: "pan" | "area" | "zoom";
  x: number;
  y: number;
  window: TimeWindow;
  scroll: number;
  moved: boolean;
}

export function gestureOf(
  keys: { shiftKey: boolean; altKey: boolean },
  at: { x: number; y: number },
  window: TimeWindow,
  scroll: number,
): Gesture {
  const kind = keys.shiftKey ? "area" : keys.altKey ? "zoom" : "pan";
  return { kind, ...at, window, scroll, moved: false };
}
