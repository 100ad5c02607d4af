/** Cells of many rows and columns by colour, drawn on a canvas: only what is seen exists, so that a thousand rows cost
 * no more than twenty. Arrows move over the cells, Enter does what a click does. */
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { readable } from "../base/color";
import { emptied } from "../render/emptied";
import { useApp } from "./context";

export interface Place {
  row: number;
  column: number;
}

interface Properties {
  rows: readonly string[];
  columns: readonly string[];
  /** Undefined: there is nothing. */
  color: (row: number, column: number) => string | undefined;
  text: (row: number, column: number) => string;
  /** The text on a cell under the mouse or the keys. */
  tip: (place: Place) => ReactNode;
  onCell: (place: Place) => void;
  chosen?: Place | null;
  /** Rows whose label stands out. */
  marked?: ReadonlySet<number>;
  label: string;
  /** What the columns are. */
  corner: string;
  testId?: string;
}

const FONT = '12px "Inter", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", system-ui, sans-serif';
const HEAD = 22;
/** Of a row, pixels. */
const HIGHEST = 26;

/** Sizes of cells and of the labels beside them, in pixels: all fit where that leaves them large enough. */
export function layoutOf(width: number, height: number, rows: number, columns: number, label: number) {
  const left = Math.min(200, Math.max(48, label));
  return {
    left,
    cellWidth: Math.max(9, Math.min(150, Math.floor((width - left) / Math.max(1, columns)))),
    cellHeight: Math.max(5, Math.min(HIGHEST, Math.floor((height - HEAD) / Math.max(1, rows)))),
  };
}

/** Labels stand so far apart that each can be read: every n-th of them. */
export const stepOfLabels = (size: number, wanted: number) => Math.max(1, Math.ceil(wanted / size));

type Layout = ReturnType<typeof layoutOf>;

function draw(
  canvas: HTMLCanvasElement,
  properties: Properties,
  layout: Layout,
  scroll: { x: number; y: number },
  theme: { background: string; text: string; muted: string; warning: string; selection: string; faint: string },
  at: Place | null,
) {
  const { context, width, height } = emptied(canvas, theme.background, FONT);
  const { rows, columns, color, text, marked } = properties;
  const { left, cellWidth, cellHeight } = layout;
  const first = { row: Math.floor(scroll.y / cellHeight), column: Math.floor(scroll.x / cellWidth) };
  const last = {
    row: Math.min(rows.length, Math.ceil((scroll.y + height - HEAD) / cellHeight)),
    column: Math.min(columns.length, Math.ceil((scroll.x + width - left) / cellWidth)),
  };
  const gap = cellHeight >= 8 && cellWidth >= 8 ? 1 : 0;
  const hasTexts = cellWidth >= 62 && cellHeight >= 14;
  const x = (column: number) => left + column * cellWidth - scroll.x;
  const y = (row: number) => HEAD + row * cellHeight - scroll.y;
  context.save();
  context.beginPath();
  context.rect(left, HEAD, width - left, height - HEAD);
  context.clip();
  context.textAlign = "center";
  for (let row = first.row; row < last.row; ++row) {
    for (let column = first.column; column < last.column; ++column) {
      const ground = color(row, column);
      if (ground === undefined) continue;
      context.fillStyle = ground;
      context.fillRect(x(column), y(row), cellWidth - gap, cellHeight - gap);
      if (!hasTexts) continue;
      context.fillStyle = readable(ground);
      context.fillText(text(row, column), x(column) + cellWidth / 2, y(row) + cellHeight / 2, cellWidth - 4);
    }
  }
  const frame = (place: Place | null | undefined, line: number) => {
    if (!place) return;
    context.strokeStyle = theme.selection;
    context.lineWidth = line;
    context.strokeRect(x(place.column) - 0.5, y(place.row) - 0.5, cellWidth, cellHeight);
  };
  frame(properties.chosen, 3);
  frame(at, 2);
  context.restore();
  context.textAlign = "right";
  const everyRow = stepOfLabels(cellHeight, 14);
  for (let row = Math.ceil(first.row / everyRow) * everyRow; row < last.row; row += everyRow) {
    const middle = y(row) + cellHeight / 2;
    if (middle < HEAD + 4) continue;
    context.fillStyle = marked?.has(row) ? theme.warning : theme.text;
    context.fillText(rows[row]!, left - 8, middle, left - 12);
  }
  context.fillStyle = theme.muted;
  context.fillText(properties.corner, left - 8, HEAD / 2, left - 12);
  context.textAlign = "center";
  const longest = Math.max(...columns.slice(first.column, last.column).map((name) => name.length), 1);
  const everyColumn = stepOfLabels(cellWidth, longest * 7.5 + 10);
  for (let column = Math.ceil(first.column / everyColumn) * everyColumn; column < last.column; column += everyColumn) {
    const middle = x(column) + cellWidth / 2;
    if (middle >= left) context.fillText(columns[column]!, middle, HEAD / 2);
  }
}

export function CellMap(properties: Properties) {
  const { rows, columns, tip, onCell, label, testId } = properties;
  const { theme } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 600, height: 300 });
  const [scroll, setScroll] = useState({ x: 0, y: 0 });
  const [at, setAt] = useState<Place | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = box.current!;
      setSize({ width: clientWidth, height: clientHeight });
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const { corner } = properties;
  const wide = useMemo(() => Math.max(corner.length, ...rows.map((name) => name.length)) * 7 + 18, [rows, corner]);
  const layout = layoutOf(size.width, size.height, rows.length, columns.length, wide);
  const { left, cellWidth, cellHeight } = layout;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, properties, layout, scroll, theme, at);
  });
  const placeOf = (event: PointerEvent): Place | null => {
    const { left: x, top: y } = canvas.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - x - left + scroll.x) / cellWidth);
    const row = Math.floor((event.clientY - y - HEAD + scroll.y) / cellHeight);
    const isIn = event.clientX - x >= left && event.clientY - y >= HEAD;
    return isIn && row < rows.length && column < columns.length ? { row, column } : null;
  };
  const reveal = ({ row, column }: Place) => {
    const element = box.current!;
    const top = row * cellHeight;
    const begin = column * cellWidth;
    const [tall, broad] = [size.height - HEAD, size.width - left];
    if (top < element.scrollTop) element.scrollTop = top;
    if (top + cellHeight > element.scrollTop + tall) element.scrollTop = top + cellHeight - tall;
    if (begin < element.scrollLeft) element.scrollLeft = begin;
    if (begin + cellWidth > element.scrollLeft + broad) element.scrollLeft = begin + cellWidth - broad;
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-20, 0],
      PageDown: [20, 0],
      Home: [-rows.length, -columns.length],
      End: [rows.length, columns.length],
    };
    const step = steps[event.key];
    if (step) {
      const next = {
        row: Math.min(rows.length - 1, Math.max(0, (at?.row ?? -1) + step[0] + (at || step[0] > 0 ? 0 : 1))),
        column: Math.min(columns.length - 1, Math.max(0, (at?.column ?? 0) + step[1])),
      };
      setAt(next);
      reveal(next);
    } else if (event.key === "Enter" && at) onCell(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = at && at.row < rows.length && at.column < columns.length ? at : null;
  const tipX = shown ? left + (shown.column + 1) * cellWidth - scroll.x + 8 : 0;
  const tipY = shown ? HEAD + (shown.row + 1) * cellHeight - scroll.y + 6 : 0;
  return (
    <div className="cell-map" style={{ maxHeight: HEAD + rows.length * HIGHEST + 18 }}>
      <div
        className="cell-map-box"
        ref={box}
        tabIndex={0}
        role="grid"
        aria-label={label}
        aria-rowcount={rows.length}
        aria-colcount={columns.length}
        data-testid={testId}
        data-layout={`${left} ${HEAD} ${cellWidth} ${cellHeight}`}
        onScroll={(event) => setScroll({ x: event.currentTarget.scrollLeft, y: event.currentTarget.scrollTop })}
        onKeyDown={onKey}
        onBlur={() => setAt(null)}
        onPointerMove={(event) => {
          const next = placeOf(event);
          if (next?.row !== at?.row || next?.column !== at?.column) setAt(next);
        }}
        onPointerLeave={() => setAt(null)}
        onClick={(event) => {
          const place = placeOf(event as unknown as PointerEvent);
          if (place) onCell(place);
        }}
      >
        <div style={{ width: left + columns.length * cellWidth, height: HEAD + rows.length * cellHeight }}>
          <canvas ref={canvas} aria-hidden="true" style={{ width: size.width, height: size.height }} />
        </div>
      </div>
      {shown && (
        <div
          className="tip"
          role="status"
          style={{
            left: Math.max(8, Math.min(tipX, size.width - 320)),
            ...(tipY > size.height - 190 ? { bottom: size.height - tipY + cellHeight + 12 } : { top: tipY }),
          }}
        >
          {tip(shown)}
        </div>
      )}
    </div>
  );
}
