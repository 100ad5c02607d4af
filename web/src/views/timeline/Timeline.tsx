import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";

import type { SessionMessage, SliceRefMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import type { View } from "../../app/view";
import { formatDuration } from "../../base/format";
import { Canvas2dRenderer } from "../../render/canvas2d";
import { Drawer } from "./Drawer";
import { Overview } from "./Overview";
import { GUTTER, RULER, drawTimeline, placeOf } from "./draw";
import { Feed, type Wish } from "./feed";
import { DEPTH_HEIGHT, type Row, buildRows, groupsOf, heightOf, toggleFold, visibleRows } from "./lanes";
import { type Gesture, gestureOf } from "./mouse";
import { timelineKeys } from "./keys";
import { type TimeWindow, pan, spanOf, timeToX, xToTime, zoom } from "./viewport";

interface Hover {
  x: number;
  y: number;
  name: string;
  text: string;
}

/** Whether a row is folded before the user has said anything. */
function foldedAtStart(row: Row, session: SessionMessage): boolean {
  if (row.family !== "counter" || row.kind !== "group") return false;
  const trace = session.traces.find((candidate) => candidate.id === row.trace);
  return (trace ? (groupsOf(trace, (key) => key).find((g) => g.key === row.key)?.tracks.length ?? 0) : 0) > 6;
}

export function Timeline() {
  const { store, actions, t, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const chosen = useAppState((s) => s.window);
  const folded = useAppState((s) => s.folded);
  const pinned = useAppState((s) => s.pinned);
  const hidden = useAppState((s) => s.hidden);
  const slice = useAppState((s) => s.slice);
  const area = useAppState((s) => s.area);
  const marks = useAppState((s) => s.marks);
  const hits = useAppState((s) => s.hits);
  const hit = useAppState((s) => s.hit);
  const drawer = useAppState((s) => s.drawer);

  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const renderer = useRef<Canvas2dRenderer | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [scroll, setScroll] = useState(0);
  const [version, setVersion] = useState(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const pointer = useRef<{ x: number; y: number } | null>(null);
  const gesture = useRef<Gesture | null>(null);
  const [band, setBand] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null);

  const feed = useMemo(() => new Feed(() => setVersion((v) => v + 1), actions.fail), [actions]);
  const rows = useMemo(() => buildRows(session, { folded, pinned, hidden }, t), [session, folded, pinned, hidden, t]);
  const data = useMemo(() => actions.data(), [actions, session]); // eslint-disable-line react-hooks/exhaustive-deps
  const timeWindow: TimeWindow = chosen ?? data;
  const plot = Math.max(1, size.width - GUTTER);
  const maxScroll = Math.max(0, heightOf(rows) - (size.height - RULER));
  const top = Math.min(scroll, maxScroll);
  const seen = useMemo(() => visibleRows(rows, top, Math.max(0, size.height - RULER)), [rows, top, size.height]);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      setSize({ width: Math.floor(width), height: Math.floor(height) });
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const wishes: Wish[] = seen
      .filter((row) => row.kind === "track" || (row.kind === "counter" && !row.folded))
      .map((row) => ({ trace: row.trace, track: row.track, depths: row.depths, counter: row.kind === "counter" }));
    if (wishes.length > 0 && size.width > 0) feed.want(wishes, timeWindow, plot);
  }, [feed, seen, timeWindow.begin, timeWindow.end, plot, size.width]); // eslint-disable-line react-hooks/exhaustive-deps

  useEffect(() => {
    if (size.width === 0) return;
    renderer.current ??= new Canvas2dRenderer(canvas.current!);
    const frame = requestAnimationFrame(() =>
      drawTimeline(renderer.current!, {
        theme,
        ...size,
        scroll: top,
        window: timeWindow,
        zero: data.begin,
        rows: seen,
        feed,
        session,
        slice,
        area,
        marks,
        hits: hits?.slices.slice(0, 4000) ?? [],
        hit: hits?.slices[hit] ?? null,
        hoverName: hover?.name ?? "",
        pointer: pointer.current,
      }),
    );
    return () => cancelAnimationFrame(frame);
  });

  // A slice that was jumped to comes into view.
  useEffect(() => {
    const reveal = (event: Event) => {
      const target = (event as CustomEvent<SliceRefMessage>).detail;
      requestAnimationFrame(() => {
        const state = store.get();
        const all = buildRows(state.session!, state, t);
        const group = groupsOf(state.session!.traces[target.trace]!, t).find((g) =>
          g.tracks.some((track) => track.id === target.track),
        );
        const row = all.find((r) => r.kind !== "group" && r.trace === target.trace && r.track === target.track);
        if (!row && group) {
          const open = state.folded.filter((k) => k !== group.key && k !== String(target.trace));
          store.set({ folded: group.family === "counter" ? [...open, `+${group.key}`] : open });
          return;
        }
        if (!row) return;
        const y = row.y + target.depth * DEPTH_HEIGHT;
        setScroll((now) =>
          y < now || y + DEPTH_HEIGHT * 2 > now + size.height - RULER
            ? Math.max(0, y - (size.height - RULER) / 2)
            : now,
        );
      });
    };
    window.addEventListener("sonde-reveal", reveal);
    return () => window.removeEventListener("sonde-reveal", reveal);
  }, [store, t, size.height]);

  const rowAt = (y: number): Row | undefined =>
    seen.find((row) => y - RULER + top >= row.y && y - RULER + top < row.y + row.height);

  const sliceAt = (
    x: number,
    y: number,
  ): { trace: number; id: number; name: string; dur: number; count: number } | null => {
    const row = rowAt(y);
    if (!row || row.kind !== "track" || x < GUTTER) return null;
    const depth = Math.floor((y - RULER + top - row.y - 2) / DEPTH_HEIGHT);
    const lane = feed.track(row.trace, row.track)?.lanes.find((l) => l.depth === depth);
    if (!lane || depth >= row.depths) return null;
    let best = -1;
    let distance = 4;
    for (let i = 0; i < lane.begin.length; ++i) {
      const left = GUTTER + timeToX(timeWindow, plot, lane.begin[i]!);
      const right =
        lane.dur[i]! < 0
          ? size.width
          : Math.max(left + 1, GUTTER + timeToX(timeWindow, plot, lane.begin[i]! + lane.dur[i]!));
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < distance || (away === 0 && distance === 0)) [best, distance] = [i, away];
    }
    if (best < 0) return null;
    return {
      trace: row.trace,
      id: lane.id[best]!,
      name: feed.name(row.trace, lane.name[best]!) ?? "",
      dur: lane.dur[best]!,
      count: lane.count[best]!,
    };
  };

  const fold = (row: Row) =>
    store.set({ folded: toggleFold(store.get().folded, row.key, foldedAtStart(row, session)) });

  const place = (event: { clientX: number; clientY: number }) => {
    const rect = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const at = place(event);
    if (at.x < GUTTER) return clickGutter(at);
    canvas.current!.setPointerCapture(event.pointerId);
    gesture.current = gestureOf(event, at, timeWindow, top);
  };

  const clickGutter = (at: { x: number; y: number }) => {
    const row = rowAt(at.y);
    if (!row) return;
    if (row.track >= 0 && at.x > GUTTER - 24) actions.toggle("pinned", row.key);
    else fold(row);
  };

  const onPointerMove = (event: PointerEvent) => {
    const at = place(event);
    pointer.current = at;
    const g = gesture.current;
    if (!g) {
      const under = sliceAt(at.x, at.y);
      const text = under
        ? (under.count > 1 ? `${t("lane.slices", under.count)} · ` : "") +
          (under.dur < 0 ? t("details.unfinished") : formatDuration(under.dur))
        : "";
      setHover(under ? { ...at, name: under.name, text } : null);
      if (!under) setVersion((v) => v + 1);
      return;
    }
    g.moved ||= Math.abs(at.x - g.x) + Math.abs(at.y - g.y) > 4;
    if (!g.moved) return;
    if (g.kind === "pan") {
      actions.setWindow(pan(g.window, -((at.x - g.x) / plot) * spanOf(g.window), data));
      setScroll(Math.min(maxScroll, Math.max(0, g.scroll - (at.y - g.y))));
    } else {
      setBand({ x0: Math.min(g.x, at.x), x1: Math.max(g.x, at.x), y0: Math.min(g.y, at.y), y1: Math.max(g.y, at.y) });
    }
  };

  const onPointerUp = (event: PointerEvent) => {
    const g = gesture.current;
    gesture.current = null;
    setBand(null);
    if (!g) return;
    const at = place(event);
    if (!g.moved) {
      const under = sliceAt(at.x, at.y);
      if (under) void actions.select(under.trace, under.id);
      else actions.deselect();
      return;
    }
    const [from, to] = [g.x, at.x].sort((a, b) => a - b).map((x) => xToTime(timeWindow, plot, x - GUTTER)) as [
      number,
      number,
    ];
    if (g.kind === "zoom") actions.setWindow({ begin: from, end: to }, true);
    if (g.kind !== "area") return;
    const [low, high] = [g.y, at.y].sort((a, b) => a - b).map((y) => y - RULER + top) as [number, number];
    const lanes = rows
      .filter((row) => row.kind === "track" && row.y < high && row.y + row.height > low)
      .map((row) => ({ trace: row.trace, track: row.track }));
    if (lanes.length > 0) store.set({ area: { begin: from, end: to, lanes }, panel: "area", drawer: true });
  };

  // React listens passively to the wheel: zooming must keep the browser from doing so too.
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const now = actions.window();
      const across = event.deltaX * unit || (event.shiftKey ? event.deltaY * unit : 0);
      if (event.ctrlKey || event.metaKey) {
        const at = xToTime(now, plot, place(event).x - GUTTER);
        actions.setWindow(zoom(now, Math.exp(event.deltaY * unit * 0.0022), at, actions.data()));
      } else if (across !== 0) {
        actions.setWindow(pan(now, (across / plot) * spanOf(now), actions.data()));
      } else {
        setScroll((y) => Math.min(maxScroll, Math.max(0, Math.min(y, maxScroll) + event.deltaY * unit)));
      }
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [actions, plot, maxScroll]);

  useEffect(() => {
    const middle = () =>
      pointer.current && pointer.current.x > GUTTER
        ? xToTime(actions.window(), plot, pointer.current.x - GUTTER)
        : null;
    const under = () => (pointer.current ? rowAt(pointer.current.y) : undefined);
    return timelineKeys(store, actions, t, {
      zoom: (factor) => {
        const now = actions.window();
        actions.setWindow(zoom(now, factor, middle() ?? now.begin + spanOf(now) / 2, data));
      },
      pan: (part) => actions.setWindow(pan(actions.window(), part * spanOf(actions.window()), data)),
      scroll: (by) => setScroll((y) => Math.min(maxScroll, Math.max(0, Math.min(y, maxScroll) + by))),
      time: middle,
      fold: () => {
        const row = under();
        if (row) fold(row);
      },
      hide: () => {
        const row = under();
        if (row && row.track >= 0) actions.toggle("hidden", row.key);
      },
    });
  });

  const selectedY = slice ? placeOf(seen, top, slice.slice) : null;
  return (
    <div className="timeline">
      <Overview data={data} window={timeWindow} gutter={GUTTER} onChange={(w) => actions.setWindow(w)} />
      <div className="canvas-box" ref={box}>
        <canvas
          ref={canvas}
          tabIndex={0}
          aria-label={t("view.timeline")}
          data-testid="timeline"
          data-version={version}
          data-rows={rows.length}
          data-selected-y={selectedY ?? ""}
          style={{ width: size.width, height: size.height }}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => {
            pointer.current = null;
            setHover(null);
          }}
          onDoubleClick={(event) => {
            const at = place(event);
            const found = sliceAt(at.x, at.y);
            if (found) void actions.select(found.trace, found.id, true, true);
          }}
        />
        {maxScroll > 0 && (
          <div className="scrollbar" aria-hidden="true">
            <div
              style={{
                top: `${(top / heightOf(rows)) * 100}%`,
                height: `${((size.height - RULER) / heightOf(rows)) * 100}%`,
              }}
            />
          </div>
        )}
        {band && (
          <div
            className="band"
            style={{ left: band.x0, width: band.x1 - band.x0, top: band.y0, height: band.y1 - band.y0 }}
          />
        )}
        {hover && !band && (
          <div className="tip" style={{ left: Math.min(hover.x + 14, size.width - 340), top: hover.y + 18 }}>
            <b>{hover.name}</b>
            <span>{hover.text}</span>
          </div>
        )}
        {hidden.length > 0 && (
          <button className="hidden-lanes" onClick={() => store.set({ hidden: [] })}>
            {t("lane.hidden", hidden.length)}
          </button>
        )}
      </div>
      {drawer && <Drawer />}
    </div>
  );
}

export const timelineView: View = { name: "timeline", title: "view.timeline", component: Timeline };
