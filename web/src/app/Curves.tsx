import { type PointerEvent, useRef, useState } from "react";

import { ticks } from "../base/ticks";
import { useApp } from "./context";

export interface Curve {
  name: string;
  color: string;
  /** x ascending. */
  points: readonly (readonly [number, number])[];
}

interface Properties {
  curves: readonly Curve[];
  steps?: boolean;
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  onRange?: (from: number, to: number) => void;
  onPoint?: (x: number) => void;
  testId?: string;
}

const [W, H, LEFT, BOTTOM] = [1200, 220, 76, 20];

/** Curves over one axis; a drag gives a range, a click a moment. */
export function Curves({ curves, steps = false, formatX, formatY, onRange, onPoint, testId }: Properties) {
  const { theme } = useApp();
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const xs = curves.flatMap((curve) => [curve.points[0]?.[0], curve.points.at(-1)?.[0]]).filter((x) => x !== undefined);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const top = curves.reduce((best, curve) => curve.points.reduce((m, p) => Math.max(m, p[1]), best), 0) || 1;
  if (xs.length === 0) return null;
  const x = (value: number) => LEFT + ((value - low) / Math.max(1, high - low)) * (W - LEFT - 8);
  const y = (value: number) => H - BOTTOM - (value / top) * (H - BOTTOM - 8);
  const at = (event: PointerEvent) => {
    const rect = svg.current!.getBoundingClientRect();
    const inside = ((event.clientX - rect.left) / rect.width) * W;
    return low + Math.min(1, Math.max(0, (inside - LEFT) / (W - LEFT - 8))) * (high - low);
  };
  const path = (points: Curve["points"]) =>
    points
      .map(([a, b], i) => (i === 0 ? `M${x(a)},${y(b)}` : steps ? `H${x(a)}V${y(b)}` : `L${x(a)},${y(b)}`))
      .join("");
  return (
    <svg
      ref={svg}
      viewBox={`0 0 ${W} ${H}`}
      preserveAspectRatio="none"
      data-testid={testId}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([at(event), at(event)]);
      }}
      onPointerMove={(event) => drag && setDrag([drag[0], at(event)])}
      onPointerUp={() => {
        if (!drag) return;
        const [from, to] = [Math.min(...drag), Math.max(...drag)];
        setDrag(null);
        if (x(to) - x(from) > 4) onRange?.(from, to);
        else onPoint?.(from);
      }}
    >
      {ticks(0, top, H, 50).values.map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={W} y1={y(value)} y2={y(value)} stroke={theme.faint} />
          <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
            {formatY(value)}
          </text>
        </g>
      ))}
      {ticks(low, high, W, 160).values.map((value) => (
        <text key={value} x={x(value)} y={H - 4} textAnchor="middle">
          {formatX(value)}
        </text>
      ))}
      {curves.map((curve) => (
        <path
          key={curve.name}
          d={path(curve.points)}
          fill="none"
          stroke={curve.color}
          strokeWidth={1.6}
          vectorEffect="non-scaling-stroke"
        />
      ))}
      {drag && (
        <rect
          x={x(Math.min(...drag))}
          width={x(Math.max(...drag)) - x(Math.min(...drag))}
          y={0}
          height={H - BOTTOM}
          fill={theme.selection}
          opacity={0.16}
        />
      )}
    </svg>
  );
}
