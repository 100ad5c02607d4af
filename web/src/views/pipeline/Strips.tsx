/** Parts of a pipeline over time, a line for each rank. The window is zoomed by Ctrl and wheel, W and S, and moved by
 * dragging, Shift and wheel, A and D. */
import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { useApp } from "../../app/context";
import { readable } from "../../base/color";
import { emptied } from "../../render/emptied";
import { formatDuration, formatExact, formatShare } from "../../base/format";
import type { Theme } from "../../theme/themes";
import { type PipelinePart, type RankParts, partAt, zoomed } from "./parts";

interface Properties {
  ranks: readonly RankParts[];
  begin: number;
  end: number;
  label: string;
  onPart: (rank: number, part: PipelinePart) => void;
}

const LEFT = 130;
const HEAD = 24;
const ROW = 26;
const FONT = '12px "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif';

type Window = readonly [number, number];

/** Forward, backward, then the other types of a schedule. */
export const colorOfType = (type: number, theme: Theme) =>
  type === 0 ? theme.computing : type === 1 ? theme.communication : theme.bars[(type + 1) % theme.bars.length]!;

function draw(
  canvas: HTMLCanvasElement,
  { ranks, begin }: Properties,
  window: Window,
  top: number,
  theme: Theme,
  label: (rank: RankParts) => string,
) {
  const { context, width, height } = emptied(canvas, theme.background, FONT);
  const x = (at: number) => LEFT + ((at - window[0]) / (window[1] - window[0])) * (width - LEFT);
  context.save();
  context.beginPath();
  context.rect(LEFT, HEAD, width - LEFT, height - HEAD);
  context.clip();
  const first = Math.floor(top / ROW);
  const last = Math.min(ranks.length, Math.ceil((top + height - HEAD) / ROW));
  for (let row = first; row < last; ++row) {
    const y = HEAD + row * ROW - top;
    context.fillStyle = theme.faint;
    context.fillRect(LEFT, y + 2, width - LEFT, ROW - 4);
    for (const part of ranks[row]!.parts) {
      const [from, to] = [x(part.begin), x(part.end)];
      if (to < LEFT || from > width) continue;
      const ground = colorOfType(part.type, theme);
      context.fillStyle = ground;
      context.fillRect(from, y + 2, Math.max(1, to - from - 0.5), ROW - 4);
      if (to - from < 8 + part.name.length * 7) continue;
      context.fillStyle = readable(ground);
      context.textAlign = "center";
      context.fillText(part.name, (Math.max(from, LEFT) + Math.min(to, width)) / 2, y + ROW / 2);
    }
  }
  context.restore();
  context.textAlign = "left";
  context.fillStyle = theme.text;
  for (let row = first; row < last; ++row) {
    const middle = HEAD + row * ROW - top + ROW / 2;
    if (middle > HEAD) context.fillText(label(ranks[row]!), 4, middle, LEFT - 10);
  }
  context.fillStyle = theme.muted;
  for (let i = 0; i < 5; ++i) {
    const at = window[0] + ((window[1] - window[0]) * i) / 5;
    context.fillText(formatDuration(at - begin), x(at) + 3, HEAD / 2);
    context.fillRect(x(at), 4, 1, HEAD - 6);
  }
}

export function Strips(properties: Properties) {
  const { ranks, begin, end, label, onPart } = properties;
  const { t, theme } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 600, height: 300 });
  const [top, setTop] = useState(0);
  const [window, setWindow] = useState<Window>([begin, end]);
  const [hover, setHover] = useState<{ x: number; y: number; row: number; part: PipelinePart } | null>(null);
  const drag = useRef<{ x: number; window: Window; moved: boolean } | null>(null);
  const wide = Math.max(1, size.width - LEFT);
  useEffect(() => setWindow([begin, end]), [begin, end]);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = box.current!;
      setSize({ width: clientWidth, height: clientHeight });
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const labelOf = ({ rank, bubble }: RankParts) => `${t("lane.rank", rank)} · ${formatShare(bubble, 1)}`;
    if (canvas.current) draw(canvas.current, properties, window, top, theme, labelOf);
  });
  const move = (by: number, from: Window = window) => {
    const start = Math.min(Math.max(from[0] + by, begin), end - (from[1] - from[0]));
    setWindow([start, start + from[1] - from[0]]);
  };
  const momentAt = (x: number) => window[0] + ((x - LEFT) / wide) * (window[1] - window[0]);
  // React's listeners for wheels may not prevent what the browser does.
  const onWheel = useRef<(event: WheelEvent) => void>(() => undefined);
  onWheel.current = (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const { left } = box.current!.getBoundingClientRect();
    const turned = event.deltaY || event.deltaX;
    if (event.ctrlKey) setWindow(zoomed(window, momentAt(event.clientX - left), Math.exp(turned / 300), [begin, end]));
    else move((turned / wide) * (window[1] - window[0]));
  };
  useEffect(() => {
    const element = box.current!;
    const listener = (event: WheelEvent) => onWheel.current(event);
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, []);
  const onKey = (event: KeyboardEvent) => {
    const middle = (window[0] + window[1]) / 2;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "w") setWindow(zoomed(window, middle, 0.7, [begin, end]));
    else if (key === "s") setWindow(zoomed(window, middle, 1 / 0.7, [begin, end]));
    else if (key === "a") move(-(window[1] - window[0]) / 8);
    else if (key === "d") move((window[1] - window[0]) / 8);
    else if (key === "f") setWindow([begin, end]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const partUnder = (clientX: number, clientY: number) => {
    const { left, top: y } = box.current!.getBoundingClientRect();
    const row = Math.floor((clientY - y - HEAD + top) / ROW);
    const found = clientX - left >= LEFT && clientY - y >= HEAD ? ranks[row] : undefined;
    const part = found && partAt(found.parts, momentAt(clientX - left));
    return part ? { x: clientX - left, y: clientY - y, row, part } : null;
  };
  return (
    <div className="cell-map">
      <div
        className="cell-map-box"
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={label}
        data-testid="pipeline"
        data-layout={`${LEFT} ${HEAD} ${ROW} ${window[0]} ${window[1]}`}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, window, moved: false };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (from && event.buttons === 1 && Math.abs(event.clientX - from.x) > 3) from.moved = true;
          if (from?.moved) move(((from.x - event.clientX) / wide) * (from.window[1] - from.window[0]), from.window);
          setHover(from?.moved ? null : partUnder(event.clientX, event.clientY));
        }}
        onPointerUp={(event) => {
          const found = drag.current?.moved ? null : partUnder(event.clientX, event.clientY);
          drag.current = null;
          if (found) onPart(ranks[found.row]!.rank, found.part);
        }}
        onPointerLeave={() => {
          drag.current = null;
          setHover(null);
        }}
      >
        <div style={{ height: HEAD + ranks.length * ROW }}>
          <canvas ref={canvas} aria-hidden="true" style={{ width: size.width, height: size.height }} />
        </div>
      </div>
      {hover && (
        <div
          className="tip"
          role="status"
          style={{ left: Math.min(hover.x + 14, size.width - 260), top: Math.min(hover.y + 16, size.height - 60) }}
        >
          <b>
            {t("lane.rank", ranks[hover.row]!.rank)} · {hover.part.name}
          </b>
          <span>{formatExact(hover.part.begin - begin)}</span>
          <span>{formatDuration(hover.part.end - hover.part.begin)}</span>
        </div>
      )}
    </div>
  );
}
