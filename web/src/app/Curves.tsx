import { type PointerEvent, useEffect, useRef, useState } from "react";

import { binaryTicks, ticks } from "../base/ticks";
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
  steps?: boolean;
  /** Single points, not joined. */
  dots?: boolean;
  /** Upright bars from zero. */
  bars?: boolean;
  /** The y axis has steps of powers of two. */
  binary?: boolean;
  /** Ticks are counted from here. */
  zero?: number;
  /** What the x axis shows at least. */
  range?: readonly [number, number];
  /** Drawn as chosen. */
  chosen?: readonly [number, number] | null;
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  onRange?: (from: number, to: number) => void;
  onPoint?: (x: number) => void;
  testId?: string;
}

const [LEFT, RIGHT, TOP, BOTTOM] = [76, 12, 8, 20];

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
export function Curves(properties: Properties) {
  const {
    curves,
    steps,
    dots,
    bars,
    binary,
    zero = 0,
    range,
    chosen,
    formatX,
    formatY,
    onRange,
    onPoint,
    testId,
  } = properties;
  const { theme } = useApp();
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  const [{ width, height }, setSize] = useState({ width: 1200, height: 220 });
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width: w, height: h } = entry!.contentRect;
      if (w > 0 && h > 0) setSize({ width: w, height: h });
    });
    observer.observe(svg.current!);
    return () => observer.disconnect();
  }, []);
  const ends = curves.flatMap((curve) => [curve.points[0]?.[0], curve.points.at(-1)?.[0]]);
  const xs = [...ends, ...(range ?? [])].filter((x) => x !== undefined);
  const [least, most] = xs.length > 0 ? [Math.min(...xs), Math.max(...xs)] : [0, 1];
  // The first and the last bar are as wide as the others: room for their halves.
  const places = bars ? Math.max(1, ...curves.map((curve) => curve.points.length)) : 0;
  const half = bars ? (most - least) / Math.max(1, places - 1) / 2 || 0.5 : 0;
  const [low, high] = [least - half, most + half];
  const top = curves.reduce((best, curve) => curve.points.reduce((m, p) => Math.max(m, p[1]), best), 0) || 1;
  const bottom = curves.reduce((best, curve) => curve.points.reduce((m, p) => Math.min(m, p[1]), best), 0);
  const x = (value: number) => LEFT + ((value - low) / Math.max(1e-12, high - low)) * (width - LEFT - RIGHT);
  const y = (value: number) => height - BOTTOM - ((value - bottom) / (top - bottom || 1)) * (height - BOTTOM - TOP);
  const at = (event: PointerEvent) => {
    const rect = svg.current!.getBoundingClientRect();
    const share = (event.clientX - rect.left - LEFT) / (width - LEFT - RIGHT);
    return low + Math.min(1, Math.max(0, share)) * (high - low);
  };
  const path = (points: Curve["points"]) =>
    points
      .map(([a, b], i) => (i === 0 ? `M${x(a)},${y(b)}` : steps ? `H${x(a)}V${y(b)}` : `L${x(a)},${y(b)}`))
      .join("");
  const barWidth = Math.max(2, (width - LEFT - RIGHT) / places - 2);
  const valueTicks = (binary ? binaryTicks : ticks)(bottom, top, height, Math.min(46, height / 4)).values;
  const seen = drag ?? (chosen && chosen[1] > chosen[0] ? chosen : null);
  const moment = chosen && chosen[1] === chosen[0] ? chosen[0] : null;
  return (
    <div className="curves">
      <svg
        ref={svg}
        data-testid={testId}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([at(event), at(event)]);
        }}
        onPointerMove={(event) => {
          setHover(at(event));
          if (drag) setDrag([drag[0], at(event)]);
        }}
        onPointerLeave={() => setHover(null)}
        onPointerUp={() => {
          if (!drag) return;
          const [from, to] = [Math.min(...drag), Math.max(...drag)];
          setDrag(null);
          if (x(to) - x(from) > 4) onRange?.(from, to);
          else onPoint?.(from);
        }}
      >
        {valueTicks.map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} stroke={theme.line} strokeWidth={0.6} />
            <text x={LEFT - 8} y={y(value) + 4} textAnchor="end">
              {formatY(value)}
            </text>
          </g>
        ))}
        {ticks(low - zero, high - zero, width, 130, 1e-9).values.map((value) => (
          <text key={value} x={x(value + zero)} y={height - 5} textAnchor="middle">
            {formatX(value + zero)}
          </text>
        ))}
        {curves.map((curve) => (
          <g key={curve.name}>
            {curve.filled && curve.points.length > 0 && (
              <path d={`${path(curve.points)}V${y(0)}H${x(curve.points[0]![0])}Z`} fill={curve.color} opacity={0.14} />
            )}
            {dots || bars ? (
              curve.points.map(([a, b], i) =>
                bars ? (
                  <rect
                    key={i}
                    x={x(a) - barWidth / 2}
                    width={barWidth}
                    y={Math.min(y(0), y(b))}
                    height={Math.abs(y(0) - y(b))}
                    fill={curve.color}
                  />
                ) : (
                  <circle key={i} cx={x(a)} cy={y(b)} r={2.2} fill={curve.color} />
                ),
              )
            ) : (
              <path d={path(curve.points)} fill="none" stroke={curve.color} strokeWidth={1.6} />
            )}
          </g>
        ))}
        {seen && (
          <rect
            x={x(Math.min(...seen))}
            width={x(Math.max(...seen)) - x(Math.min(...seen))}
            y={0}
            height={height - BOTTOM}
            fill={theme.selection}
            opacity={0.16}
          />
        )}
        {moment !== null && (
          <line x1={x(moment)} x2={x(moment)} y1={0} y2={height - BOTTOM} stroke={theme.selection} strokeWidth={1.5} />
        )}
        {hover !== null && (
          <line x1={x(hover)} x2={x(hover)} y1={0} y2={height - BOTTOM} stroke={theme.muted} strokeDasharray="3 3" />
        )}
      </svg>
      {hover !== null && !dots && !bars && (
        <div className="tip" style={{ left: Math.min(x(hover) + 12, width - 220), top: 4 }}>
          <b>{formatX(hover)}</b>
          {curves.slice(0, 8).map((curve) => {
            const value = valueAt(curve.points, hover);
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
