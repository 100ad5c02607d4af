import { type PointerEvent, useRef } from "react";

import { useAppState } from "../../app/context";
import { type TimeWindow, clampWindow, spanOf } from "./viewport";

interface Properties {
  data: TimeWindow;
  window: TimeWindow;
  gutter: number;
  onChange: (window: TimeWindow) => void;
}

/** The whole trace as a strip, with the part that is seen; a click or drag goes there. */
export function Overview({ data, window, gutter, onChange }: Properties) {
  const strip = useRef<HTMLDivElement>(null);
  const steps = useAppState((s) => s.hits?.slices);
  const part = (ts: number) => `${Math.min(100, Math.max(0, ((ts - data.begin) / Math.max(1, spanOf(data))) * 100))}%`;
  const go = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const rect = strip.current!.getBoundingClientRect();
    const middle = data.begin + ((event.clientX - rect.left) / rect.width) * spanOf(data);
    onChange(clampWindow({ begin: middle - spanOf(window) / 2, end: middle + spanOf(window) / 2 }, data));
  };
  return (
    <div className="overview" style={{ paddingLeft: gutter }}>
      <div className="strip" ref={strip} onPointerDown={go} onPointerMove={go}>
        {steps?.slice(0, 500).map((s) => (
          <i key={`${s.trace}:${s.id}`} style={{ left: part(s.ts) }} />
        ))}
        <div className="seen" style={{ left: part(window.begin), right: `calc(100% - ${part(window.end)})` }} />
      </div>
    </div>
  );
}
