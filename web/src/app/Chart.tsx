import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { useApp } from "./context";

export interface Curve {
  name: string;
  color: string;
  /** x ascending. */
  points: readonly (readonly [number, number])[];
  /** Filled down to zero. */
  filled?: boolean;
}

interface Properties {
  curves: readonly Curve[];
  /** How points are joined: by lines, by steps, not at all, or upright bars from zero. */
  shape?: "lines" | "steps" | "dots" | "bars";
  /** The y axis has steps of powers of two. */
  binary?: boolean;
  /** Ticks are counted from here. */
  zero?: number;
  /** Drawn as chosen: a range, or a moment. */
  chosen?: readonly [number, number] | null;
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  onRange?: (from: number, to: number) => void;
  onPoint?: (x: number) => void;
  label: string;
  testId?: string;
}

const LEFT = 78;
const BINARY_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);
const { stepped, bars } = uPlot.paths;

/** The points of all curves over one axis, each kept: of equal x of a curve every one has a place. */
export function aligned(curves: readonly Curve[]): (number | null)[][] {
  const places = new Map<string, { x: number; values: (number | null)[] }>();
  curves.forEach(({ points }, at) => {
    let same = 0;
    points.forEach(([x, y], i) => {
      same = i > 0 && points[i - 1]![0] === x ? same + 1 : 0;
      const key = `${x}:${same}`;
      const place = places.get(key) ?? { x, values: curves.map(() => null) };
      place.values[at] = y;
      places.set(key, place);
    });
  });
  const sorted = [...places.values()].sort((a, b) => a.x - b.x);
  return [sorted.map((place) => place.x), ...curves.map((_, at) => sorted.map((place) => place.values[at]!))];
}

/** The value of a curve at x: that of the last point before. */
export function valueAt(points: Curve["points"], x: number): number | null {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]![0] <= x) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? null : points[low - 1]![1];
}

/** Curves over one axis; a drag gives a range, a click a moment. */
export function Chart(properties: Properties) {
  const {
    curves,
    shape = "lines",
    binary = false,
    zero = 0,
    chosen = null,
    formatX,
    formatY,
    label,
    testId,
  } = properties;
  const { theme } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hover, setHover] = useState<{ left: number; x: number } | null>(null);
  // What the plot calls later is what was given last.
  const latest = useRef(properties);
  latest.current = properties;
  const key = JSON.stringify(curves);
  const data = useMemo(() => {
    const [xs, ...ys] = aligned(curves);
    return [xs!.map((x) => x! - zero), ...ys] as uPlot.AlignedData;
  }, [key, zero]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    const element = box.current!;
    const axis: uPlot.Axis = {
      stroke: theme.muted,
      font: "11px system-ui, sans-serif",
      grid: { stroke: theme.line, width: 0.6 },
      ticks: { show: false },
    };
    const halfBar = shape === "bars" && data[0].length > 1 ? (data[0][1]! - data[0][0]!) / 2 : 0;
    const range = (_: uPlot, low: number, high: number): [number, number] => {
      const half = halfBar || (low === high ? 0.5 : 0);
      return [low - half, high + half];
    };
    const text = (x: number) => latest.current.formatX(x + zero);
    let dragged = false;
    const made = new uPlot(
      {
        width: Math.max(100, element.clientWidth),
        height: Math.max(60, element.clientHeight),
        padding: [8, 12, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
        scales: {
          x: { time: false, range },
          y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, low + 1e-12) || 1] },
        },
        axes: [
          { ...axis, size: 22, grid: { show: false }, space: 110, values: (_, xs) => xs.map((x) => text(x)) },
          {
            ...axis,
            size: LEFT,
            ...(binary ? { incrs: BINARY_STEPS } : {}),
            values: (_, ys) => ys.map((y) => latest.current.formatY(y)),
          },
        ],
        series: [{}, ...curves.map((curve) => seriesOf(curve, shape))],
        hooks: {
          setCursor: [
            (u) => {
              const left = u.cursor.left ?? -1;
              setHover(left < 0 ? null : { left, x: u.posToVal(left, "x") });
            },
          ],
          setSelect: [
            (u) => {
              if (u.select.width <= 4) return;
              dragged = true;
              const [from, to] = [u.select.left, u.select.left + u.select.width].map((at) => u.posToVal(at, "x"));
              latest.current.onRange?.(from! + zero, to! + zero);
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          draw: [(u) => drawChosen(u, latest.current.chosen ?? null, zero, theme.selection)],
        },
      },
      data,
      element,
    );
    const onClick = () => {
      if (!dragged) latest.current.onPoint?.(made.posToVal(made.cursor.left!, "x") + zero);
      dragged = false;
    };
    made.over.addEventListener("click", onClick);
    plot.current = made;
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      if (width > 0 && height > 0) made.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [data, shape, binary, zero, theme]); // eslint-disable-line react-hooks/exhaustive-deps
  // Without new scales: at the start there are none yet to be kept.
  useEffect(() => plot.current?.redraw(false, false), [chosen?.[0], chosen?.[1]]); // eslint-disable-line react-hooks/exhaustive-deps
  const joined = shape === "lines" || shape === "steps";
  return (
    <div className="curves" ref={box} role="img" aria-label={label} data-testid={testId}>
      {hover && joined && (
        <div
          className="tip"
          style={{ left: Math.min(hover.left + LEFT + 12, (box.current?.clientWidth ?? 400) - 220), top: 4 }}
        >
          <b>{formatX(hover.x + zero)}</b>
          {curves.slice(0, 8).map((curve) => {
            const value = valueAt(curve.points, hover.x + zero);
            return value === null ? null : (
              <span key={curve.name}>
                <i className="dot" style={{ background: curve.color }} />
                {curve.name} {formatY(value)}
              </span>
            );
          })}
        </div>
      )}
    </div>
  );
}

function seriesOf(curve: Curve, shape: Properties["shape"]): uPlot.Series {
  const fill = curve.filled ? { fill: `${curve.color}24` } : {};
  const line = { stroke: curve.color, width: 1.6, spanGaps: true, points: { show: false }, ...fill };
  if (shape === "steps") return { ...line, paths: stepped!({ align: 1 }) };
  if (shape === "bars") return { ...line, width: 0, fill: curve.color, paths: bars!({ size: [0.9, 200, 2] }) };
  if (shape === "dots")
    return { ...line, paths: () => null, points: { show: true, size: 4.5, fill: curve.color, width: 0 } };
  return line;
}

function drawChosen(u: uPlot, chosen: readonly [number, number] | null, zero: number, color: string) {
  if (!chosen) return;
  const [from, to] = chosen.map((x) => u.valToPos(x - zero, "x", true)) as [number, number];
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = color;
  ctx.globalAlpha = to > from ? 0.16 : 1;
  ctx.fillRect(from, bbox.top, Math.max(1.5, to - from), bbox.height);
  ctx.restore();
}
