import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";

import { api } from "../../api/client";
import type { LaneWindow } from "../../api/decode";
import type { SessionMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { isShown } from "../../app/traces";
import { useVersions } from "../../app/useTable";
import { pixelFor } from "./feed";
import { familyOf, isCounter } from "./lanes";
import { type TimeWindow, clampWindow, spanOf } from "./viewport";

interface Properties {
  data: TimeWindow;
  window: TimeWindow;
  gutter: number;
  onChange: (window: TimeWindow) => void;
}

const PARTS = 600;
const LANES = 64;
const STRIPES = [["host", "api"], ["device"], ["communication"]] as const;

/** The lanes with most slices of a kind; those that are busy show how busy the program was. */
function lanesOf(session: SessionMessage, families: readonly string[]) {
  return session.traces
    .filter(isShown)
    .flatMap((trace) =>
      trace.tracks
        .filter(
          (track) =>
            !isCounter(track) && track.slices > 0 && families.includes(familyOf(track)) && track.kind !== "python",
        )
        .map((track) => ({ trace: trace.id, track: track.id, depths: 1, slices: track.slices })),
    )
    .sort((a, b) => b.slices - a.slices)
    .slice(0, LANES);
}

/** Which share of each part of time is covered by the lanes, the busiest of them. */
export function busy(lanes: readonly LaneWindow[], data: TimeWindow, parts: number): Float64Array {
  const most = new Float64Array(parts);
  const size = Math.max(1, spanOf(data)) / parts;
  for (const lane of lanes) {
    const own = new Float64Array(parts);
    for (let i = 0; i < lane.begin.length; ++i) {
      const from = (lane.begin[i]! - data.begin) / size;
      const to = lane.dur[i]! < 0 ? parts : from + lane.dur[i]! / size;
      for (let at = Math.max(0, Math.floor(from)); at < Math.min(parts, Math.ceil(to)); ++at) {
        own[at] = own[at]! + Math.max(0, Math.min(to, at + 1) - Math.max(from, at));
      }
    }
    for (let at = 0; at < parts; ++at) most[at] = Math.max(most[at]!, Math.min(1, own[at]!));
  }
  return most;
}

/** The whole trace as a strip, with the part that is seen: how busy host, device and communication
 * were. A click or drag goes there. */
export function Overview({ data, window, gutter, onChange }: Properties) {
  const { actions, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const strip = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [stripes, setStripes] = useState<{ kind: number; shares: Float64Array; of: TimeWindow }[]>([]);
  const steps = useAppState((s) => s.hits?.slices);
  const colors = useMemo(() => [theme.accent, theme.computing, theme.exposed], [theme]);
  const { begin, end } = data;

  // Over many traces it is asked when they have doubled, and when all are there.
  const versions = useVersions() + JSON.stringify(useAppState((s) => s.offsets));
  useEffect(() => {
    let isCurrent = true;
    const whole = { begin, end };
    Promise.all(
      STRIPES.map(async (families, kind) => {
        const lanes = lanesOf(session, families);
        if (lanes.length === 0) return null;
        const windows = await api.window(lanes, begin, end, pixelFor(whole, PARTS));
        return { kind, shares: busy(windows, whole, PARTS), of: whole };
      }),
    ).then((found) => isCurrent && setStripes(found.filter((stripe) => stripe !== null)), actions.fail);
    return () => {
      isCurrent = false;
    };
  }, [versions, actions]); // eslint-disable-line react-hooks/exhaustive-deps

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, PARTS, 24);
    const height = 24 / Math.max(1, stripes.length);
    const scale = PARTS / Math.max(1, end - begin);
    stripes.forEach(({ kind, shares, of }, row) => {
      const [from, width] = [(of.begin - begin) * scale, ((of.end - of.begin) / PARTS) * scale];
      context.fillStyle = colors[kind]!;
      shares.forEach((share, at) => {
        context.globalAlpha = share === 0 ? 0 : 0.2 + 0.7 * share;
        context.fillRect(from + at * width, row * height, width, height - 1);
      });
    });
    context.globalAlpha = 1;
  }, [stripes, colors, begin, end]);

  const part = (ts: number) => `${Math.min(100, Math.max(0, ((ts - begin) / Math.max(1, end - begin)) * 100))}%`;
  const go = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const rect = strip.current!.getBoundingClientRect();
    const middle = begin + ((event.clientX - rect.left) / rect.width) * (end - begin);
    onChange(clampWindow({ begin: middle - spanOf(window) / 2, end: middle + spanOf(window) / 2 }, data));
  };
  return (
    <div className="overview" style={{ paddingLeft: gutter }}>
      <div className="strip" ref={strip} onPointerDown={go} onPointerMove={go}>
        <canvas ref={canvas} width={PARTS} height={24} aria-hidden="true" />
        {steps?.slice(0, 500).map((s) => (
          <i key={`${s.trace}:${s.id}`} style={{ left: part(s.ts) }} />
        ))}
        <div className="seen" style={{ left: part(window.begin), right: `calc(100% - ${part(window.end)})` }} />
      </div>
    </div>
  );
}
