import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { useApp } from "../../app/context";
import { formatDuration } from "../../base/format";
import { ticks } from "../../base/ticks";
import { type Wait, colorOfPart } from "./paths";
import type { Request } from "./requests";

interface Properties {
  requests: readonly Request[];
  /** What is unusual in them, by request. */
  waits: ReadonlyMap<number, readonly Wait[]>;
  /** When the front-end's event loop stood still. */
  pauses: readonly (readonly number[])[];
  selected: number | null;
  onSelect: (id: number) => void;
}

const HEIGHT = 20;
const LABEL = 150;
const RULER = 22;

/** A row for each request: on its way, queued, prefill, decode, and a line for each token. */
export function Waterfall({ requests, waits, pauses, selected, onSelect }: Properties) {
  const { t, theme } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const [{ width, height }, setSize] = useState({ width: 800, height: 300 });
  const [top, setTop] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      setSize({ width: entry!.contentRect.width, height: entry!.contentRect.height });
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const begin = requests.reduce((least, request) => Math.min(least, request.ts), Infinity);
  // What a client had not taken at the end of its answer is delivered later.
  const waited = (request: Request) => waits.get(request.id)?.map(({ ts, dur }) => ts + dur) ?? [];
  const end = requests.reduce((most, request) => Math.max(most, request.end, ...waited(request)), begin + 1);
  const x = (at: number) => LABEL + ((at - begin) / Math.max(1, end - begin)) * (width - LABEL - 12);
  const first = Math.max(0, Math.floor(top / HEIGHT) - 4);
  const last = Math.min(requests.length, Math.ceil((top + height) / HEIGHT) + 4);
  const lines = ticks(0, end - begin, width - LABEL, 110).values;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = requests.findIndex((request) => request.id === selected);
    const next = Math.min(requests.length - 1, Math.max(0, at + step));
    onSelect(requests[next]!.id);
    const element = box.current!;
    if (next * HEIGHT < element.scrollTop) element.scrollTop = next * HEIGHT;
    else if ((next + 1) * HEIGHT + RULER > element.scrollTop + element.clientHeight)
      element.scrollTop = (next + 1) * HEIGHT + RULER - element.clientHeight;
  };
  return (
    <div
      className="waterfall"
      ref={box}
      tabIndex={0}
      data-testid="waterfall"
      data-rows={requests.length}
      aria-label={t("serving.requests")}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <svg width={width} height={requests.length * HEIGHT + RULER}>
        {lines.map((value) => (
          <line
            key={value}
            x1={x(value + begin)}
            x2={x(value + begin)}
            y1={0}
            y2={requests.length * HEIGHT + RULER}
            stroke={theme.faint}
          />
        ))}
        {pauses.map(([from, to]) => (
          <rect
            key={from}
            data-testid="loop-pause"
            x={x(from!)}
            width={Math.max(1, x(to!) - x(from!))}
            y={RULER}
            height={requests.length * HEIGHT}
            fill={colorOfPart("event_loop", theme)}
            opacity={0.18}
          />
        ))}
        {requests.slice(first, last).map((request, i) => {
          const y = (first + i) * HEIGHT + RULER;
          // Without a first token of its own it was decoding already.
          const given = request.first ?? request.tokens[0] ?? request.end;
          const scheduled = request.scheduled ?? given;
          const queued = Math.min(request.queued ?? request.ts, scheduled);
          const parts: [number, number, string][] = [
            [request.ts, Math.min(queued, request.end), theme.counter],
            [queued, Math.min(scheduled, request.end), theme.free],
            [scheduled, given, theme.communication],
            [given, request.end, theme.computing],
          ];
          const tip =
            `${request.name}\n${t("serving.arriving")} ${formatDuration(queued - request.ts)}` +
            `\n${t("serving.queued")} ${formatDuration(scheduled - queued)}` +
            (request.ttft === null ? "" : `\nTTFT ${formatDuration(request.ttft)}`) +
            (request.tpot === null ? "" : `\nTPOT ${formatDuration(request.tpot)}`) +
            `\n${t("serving.tokens", request.prompt ?? "?", request.output)}` +
            (waits.get(request.id) ?? [])
              .slice(0, 3)
              .map((wait) => `\n${wait.label} ${formatDuration(wait.dur)}`)
              .join("") +
            `\n${request.ended ? request.reason : t("details.unfinished")}`;
          return (
            <g key={request.id} className="request" data-request={request.id} onClick={() => onSelect(request.id)}>
              <title>{tip}</title>
              <rect
                x={0}
                y={y}
                width={width}
                height={HEIGHT}
                fill={request.id === selected ? theme.accent : "transparent"}
                opacity={0.16}
              />
              <text x={10} y={y + 14} fill={theme.text}>
                {request.name.length > 19 ? `${request.name.slice(0, 18)}…` : request.name}
              </text>
              {parts.map(([from, to, color], at) => (
                <rect
                  key={at}
                  x={x(from)}
                  y={y + 3}
                  width={Math.max(0.5, x(to) - x(from))}
                  height={HEIGHT - 6}
                  fill={color}
                />
              ))}
              {waits.get(request.id)?.map((wait) => (
                <path
                  key={wait.ts}
                  data-part={wait.part}
                  d={`M${x(wait.ts)} ${y + 3}H${Math.max(x(wait.ts) + 0.5, x(wait.ts + wait.dur))}V${y + HEIGHT - 3}H${x(wait.ts)}Z`}
                  fill={colorOfPart(wait.part, theme)}
                />
              ))}
              {request.tokens.slice(0, 2000).map((at) => (
                <line
                  key={at}
                  x1={x(at)}
                  x2={x(at)}
                  y1={y + 3}
                  y2={y + HEIGHT - 3}
                  stroke={theme.barText}
                  strokeWidth={0.7}
                  opacity={0.55}
                />
              ))}
              {request.preemptions > 0 && (
                <text x={x(request.end) + 4} y={y + 14} fill={theme.warning}>
                  ↺ {request.preemptions}
                </text>
              )}
            </g>
          );
        })}
        <rect x={0} y={top} width={width} height={RULER} fill={theme.panel} />
        {lines
          .filter((value) => x(value + begin) < width - 70)
          .map((value) => (
            <text key={value} x={x(value + begin) + 3} y={top + 15} fill={theme.muted}>
              {formatDuration(value)}
            </text>
          ))}
      </svg>
    </div>
  );
}
