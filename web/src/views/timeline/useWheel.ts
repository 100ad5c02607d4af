import { type Dispatch, type RefObject, type SetStateAction, useEffect } from "react";

import { useApp } from "../../app/context";
import { GUTTER } from "./scene";
import { pan, spanOf, xToTime, zoom } from "./viewport";

/** The wheel scrolls, zooms and pans. React listens to it passively: zooming must keep the browser from
 * doing so too. */
export function useWheel(
  canvas: RefObject<HTMLCanvasElement | null>,
  plot: number,
  maxScroll: number,
  setScroll: Dispatch<SetStateAction<number>>,
) {
  const { actions } = useApp();
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const now = actions.window();
      const across = event.deltaX * unit || (event.shiftKey ? event.deltaY * unit : 0);
      if (event.ctrlKey || event.metaKey) {
        const at = xToTime(now, plot, event.clientX - element.getBoundingClientRect().left - GUTTER);
        actions.setWindow(zoom(now, Math.exp(event.deltaY * unit * 0.0022), at, actions.data()));
      } else if (across !== 0) {
        actions.setWindow(pan(now, (across / plot) * spanOf(now), actions.data()));
      } else {
        setScroll((y) => Math.min(maxScroll, Math.max(0, Math.min(y, maxScroll) + event.deltaY * unit)));
      }
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas, actions, plot, maxScroll, setScroll]);
}
