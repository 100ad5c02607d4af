import { type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import type { SessionMessage, SliceRefMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import type { View } from "../../app/view";
import { formatDuration, formatNumber } from "../../base/format";
import { Canvas2dRenderer } from "../../render/canvas2d";
import { Drawer } from "./Drawer";
import { Overview } from "./Overview";
import { counterAt, drawTimeline, placeOf } from "./draw";
import { GUTTER, RULER, type Scene } from "./scene";
import { Feed, type Wish } from "./feed";
import {
  DEPTH_HEIGHT,
  type Row,
  buildRows,
  groupsOf,
  heightOf,
  laneStartsFolded,
  siblingsOf,
  toggleFold,
  visibleRows,
} from "./lanes";
import { Menu, type MenuPlace } from "./Menu";
import { type Gesture, gestureOf } from "./mouse";
import { timelineKeys } from "./keys";
import { COMPUTED } from "./overlap";
import { useScroll } from "./useScroll";
import { type TimeWindow, pan, spanOf, timeToX, xToTime, zoom } from "./viewport";

interface Hover {
  x: number;
  y: number;
  name: string;
  text: string;
}

/** Whether a row is folded before the user has said anything. */
function foldedAtStart(row: Row, session: SessionMessage): boolean {
  const trace = session.traces.find((candidate) => candidate.id === row.trace);
  const track = trace?.tracks.find((candidate) => candidate.id === row.track);
  if (track) return laneStartsFolded(track);
  if (row.key.endsWith("/computed")) return true;
  if (row.family !== "counter" || row.kind !== "group") return false;
  return (trace ? (groupsOf(trace, (key) => key).find((g) => g.key === row.key)?.tracks.length ?? 0) : 0) > 6;
}

export function Timeline() {
  const { store, actions, t, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const chosen = useAppState((s) => s.window);
  const folded = useAppState((s) => s.folded);
  const pinned = useAppState((s) => s.pinned);
  const hidden = useAppState((s) => s.hidden);
  const order = useAppState((s) => s.order);
  const offsets = useAppState((s) => s.offsets);
  const cursor = useAppState((s) => s.cursor);
  const anchor = useAppState((s) => s.anchor);
  const slice = useAppState((s) => s.slice);
  const area = useAppState((s) => s.area);
  const marks = useAppState((s) => s.marks);
  const hits = useAppState((s) => s.hits);
  const hit = useAppState((s) => s.hit);

  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const renderer = useRef<Canvas2dRenderer | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [scroll, setScroll] = useScroll();
  const [version, setVersion] = useState(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const pointer = useRef<{ x: number; y: number } | null>(null);
  const gesture = useRef<Gesture | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const lifted = useRef<{ key: string; y: number } | null>(null);
  const [band, setBand] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null);

  // What was fetched belongs to these slices at these places.
  const versions = session.traces.map((trace) => trace.version).join() + JSON.stringify(offsets);
  const feed = useMemo(
    () => new Feed(() => setVersion((v) => v + 1), actions.fail, session.base),
    [actions, versions, session.base], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const rows = useMemo(
    () => buildRows(session, { folded, pinned, hidden, order, offsets }, t),
    [session, folded, pinned, hidden, order, offsets, t],
  );
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

  // The newest state is drawn once a frame; a frame that is due is never put off by the next change.
  const scene = useRef<Scene | null>(null);
  const due = useRef(0);
  useLayoutEffect(() => {
    if (size.width === 0) return;
    renderer.current ??= new Canvas2dRenderer(canvas.current!);
    scene.current = {
      theme,
      ...size,
      scroll: top,
      window: timeWindow,
      zero: data.begin,
      rows: seen,
      allRows: rows,
      feed,
      session,
      slice,
      area,
      marks,
      hits: hits?.slices.slice(0, 4000) ?? [],
      hit: hits?.slices[hit] ?? null,
      hoverName: hover?.name ?? "",
      pointer: pointer.current,
      cursor,
      anchor,
    };
    if (due.current !== 0) return;
    due.current = requestAnimationFrame(() => {
      due.current = 0;
      drawTimeline(renderer.current!, scene.current!);
    });
  });
  useEffect(() => () => cancelAnimationFrame(due.current), []);

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
        // A folded lane that hides the slice is unfolded, and comes here again.
        const owner = state.session!.traces[target.trace]!.tracks.find((track) => track.id === target.track);
        if (row.folded && owner && target.depth >= row.depths) {
          store.set({ folded: toggleFold(state.folded, row.key, laneStartsFolded(owner)) });
          window.dispatchEvent(new CustomEvent("sonde-reveal", { detail: target }));
          return;
        }
        const y = row.y + target.depth * row.bar;
        setScroll((now) =>
          y < now || y + DEPTH_HEIGHT * 2 > now + size.height - RULER
            ? Math.max(0, y - (size.height - RULER) / 2)
            : now,
        );
      });
    };
    window.addEventListener("sonde-reveal", reveal);
    return () => window.removeEventListener("sonde-reveal", reveal);
  }, [store, t, size.height, setScroll]);

  const rowAt = (y: number): Row | undefined =>
    seen.find((row) => y - RULER + top >= row.y && y - RULER + top < row.y + row.height);

  const sliceAt = (
    x: number,
    y: number,
  ): { trace: number; id: number; name: string; dur: number; count: number } | null => {
    const row = rowAt(y);
    if (!row || row.kind !== "track" || x < GUTTER) return null;
    const depth = Math.floor((y - RULER + top - row.y - 2) / row.bar);
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
    setMenu(null);
    canvas.current!.setPointerCapture(event.pointerId);
    if (at.x < GUTTER) {
      const row = rowAt(at.y);
      lifted.current = row ? { key: row.key, y: at.y } : null;
      return;
    }
    gesture.current = gestureOf(event, at, timeWindow, top);
  };

  const clickGutter = (at: { x: number; y: number }) => {
    const row = rowAt(at.y);
    if (!row) return;
    if (row.track >= 0 && at.x > GUTTER - 24) actions.toggle("pinned", row.key);
    else fold(row);
  };

  /** A lane that is dragged by its label changes places with the one it comes to. */
  const dragLane = (at: { x: number; y: number }) => {
    const own = rows.find((row) => row.key === lifted.current!.key);
    const over = rowAt(at.y);
    if (!own || !over || over === own || Math.abs(at.y - lifted.current!.y) <= 4) return;
    const siblings = siblingsOf(rows, own);
    if (!siblings.includes(over.key)) return;
    const middle = RULER + over.y - top + over.height / 2;
    const down = over.y > own.y;
    if (down ? at.y < middle : at.y > middle) return;
    actions.move(own.key, down ? 1 : -1, siblings);
  };

  const onPointerMove = (event: PointerEvent) => {
    const at = place(event);
    pointer.current = at;
    const g = gesture.current;
    if (lifted.current) return dragLane(at);
    if (!g) {
      const label = at.x < GUTTER ? rowAt(at.y) : undefined;
      if (label && label.track >= 0) {
        const track = session.traces[label.trace]?.tracks.find((candidate) => candidate.id === label.track);
        setHover({ ...at, name: label.label, text: t("lane.slices", track?.slices ?? 0) });
        return;
      }
      const over = rowAt(at.y);
      const points =
        over?.kind === "counter" && !over.folded ? feed.counter(over.trace, over.track)?.points : undefined;
      if (over && points) {
        const value = counterAt(points, xToTime(timeWindow, plot, at.x - GUTTER));
        setHover(value === null ? null : { ...at, name: formatNumber(value), text: over.label });
        return;
      }
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
    const at = place(event);
    gesture.current = null;
    setBand(null);
    if (lifted.current) {
      const row = rowAt(at.y);
      if (row && Math.abs(at.y - lifted.current.y) <= 4 && row.key === lifted.current.key) clickGutter(at);
      lifted.current = null;
      return;
    }
    if (!g) return;
    if (!g.moved) {
      const under = sliceAt(at.x, at.y);
      if (under && under.id >= 0) void actions.select(under.trace, under.id);
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
      .filter((row) => row.kind === "track" && row.track < COMPUTED && row.y < high && row.y + row.height > low)
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
  }, [actions, plot, maxScroll, setScroll]);

  useEffect(() => {
    const middle = () =>
      pointer.current && pointer.current.x > GUTTER
        ? xToTime(actions.window(), plot, pointer.current.x - GUTTER)
        : null;
    // The lane of the cursor; else the one under the mouse, or that of the selection.
    const under = () => {
      const selected = slice ? `${slice.slice.trace}:${slice.slice.track}` : "";
      return (
        rows.find((row) => row.key === cursor) ??
        (pointer.current ? rowAt(pointer.current.y) : undefined) ??
        rows.find((row) => row.key === selected)
      );
    };
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
      pin: () => {
        const row = under();
        if (row && row.track >= 0) actions.toggle("pinned", row.key);
      },
      pinSame: () => {
        const row = under();
        const track = session.traces[row?.trace ?? -1]?.tracks.find((candidate) => candidate.id === row!.track);
        if (track) actions.pinSameNamed(track.name);
      },
      cursor: (step) => {
        const now = rows.findIndex((row) => row.key === cursor);
        const from = now >= 0 ? now : rows.indexOf(seen[0]!) - step;
        const row = rows[Math.min(rows.length - 1, Math.max(0, from + step))];
        if (!row) return;
        store.set({ cursor: row.key });
        const space = size.height - RULER;
        setScroll((y) => (row.y < y ? row.y : row.y + row.height > y + space ? row.y + row.height - space : y));
      },
      move: (step) => {
        const row = under();
        if (row) actions.move(row.key, step, siblingsOf(rows, row));
      },
      enter: () => {
        // The first slice in view of the lane, or the first below the selected one.
        const row = under();
        if (!row || row.kind !== "track") return false;
        const lanes = feed.track(row.trace, row.track)?.lanes ?? [];
        const inside = slice?.slice.trace === row.trace && slice.slice.track === row.track ? slice.slice : null;
        const depth = inside ? inside.depth + 1 : 0;
        const lane = lanes.find((l) => l.depth === depth);
        const from = inside ? inside.ts : timeWindow.begin;
        const at = lane ? lane.begin.findIndex((ts) => ts >= from) : -1;
        if (!lane || at < 0 || (inside && lane.begin[at]! > inside.ts + Math.max(0, inside.dur))) return false;
        void actions.select(row.trace, lane.id[at]!, true);
        return true;
      },
      menu: () => {
        const row = under();
        setMenu({ x: GUTTER, y: row ? Math.max(RULER, RULER + row.y - top) : RULER, row: row ?? null });
      },
    });
  });

  const selectedY = slice ? placeOf(seen, top, slice.slice) : null;
  return (
    <div className="timeline">
      <Overview key={versions} data={data} window={timeWindow} gutter={GUTTER} onChange={(w) => actions.setWindow(w)} />
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
          onContextMenu={(event) => {
            event.preventDefault();
            const at = place(event);
            const found = sliceAt(at.x, at.y);
            if (found && found.id >= 0) void actions.select(found.trace, found.id);
            setMenu({ ...at, row: rowAt(at.y) ?? null });
          }}
          onPointerLeave={() => {
            pointer.current = null;
            setHover(null);
          }}
          onDoubleClick={(event) => {
            const at = place(event);
            const found = sliceAt(at.x, at.y);
            if (found && found.id >= 0) void actions.select(found.trace, found.id, true, true);
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
        {menu && (
          <Menu
            place={menu}
            rows={rows}
            width={size.width}
            height={size.height}
            onFold={fold}
            onClose={() => {
              setMenu(null);
              canvas.current?.focus();
            }}
          />
        )}
        {hidden.length > 0 && (
          <button className="hidden-lanes" onClick={() => store.set({ hidden: [] })}>
            {t("lane.hidden", hidden.length)}
          </button>
        )}
      </div>
      <Drawer />
    </div>
  );
}

export const timelineView: View = { name: "timeline", title: "view.timeline", component: Timeline };
