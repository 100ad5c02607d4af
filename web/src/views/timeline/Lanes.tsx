import { type PointerEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { isMark } from "../../api/marks";
import { useApp, useAppState } from "../../app/context";
import { formatDuration, formatCounter } from "../../base/format";
import { Canvas2dRenderer } from "../../render/canvas2d";
import { counterAt, drawTimeline, placeOf } from "./draw";
import { GUTTER, RULER, type Scene } from "./scene";
import { Feed, type Wish } from "./feed";
import { type Shown, foldedAtStart, rowAt, sliceAt } from "./find";
import { type Row, buildRows, contentOf, heightOf, placeRows, siblingsOf, toggleFold } from "./lanes";
import { Menu, type MenuPlace } from "./Menu";
import { type Gesture, gestureOf } from "./mouse";
import { timelineKeys } from "./keys";
import { type Band, type Hover, Overlays } from "./Overlays";
import { useReveal } from "./useReveal";
import { useScroll } from "./useScroll";
import { useWheel } from "./useWheel";
import { type TimeWindow, pan, spanOf, xToTime, zoom } from "./viewport";

interface Properties {
  /** Lanes of this trace only; one of several panes, each scrolled by itself. */
  only?: number;
  label: string;
  testId: string;
  /** Keys act here. */
  hasKeys: boolean;
  /** The mouse or a key came here. */
  onEnter?: () => void;
}

/** Lanes over the window of time that the whole page shares. */
export function Lanes({ only, label, testId, hasKeys, onEnter }: Properties) {
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
  const [scroll, setScroll] = useScroll(only === undefined ? "top" : `top.${only}`);
  const [version, setVersion] = useState(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const pointer = useRef<{ x: number; y: number } | null>(null);
  const gesture = useRef<Gesture | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const lifted = useRef<{ key: string; y: number } | null>(null);
  const [band, setBand] = useState<Band | null>(null);

  // What was fetched belongs to these slices at these places.
  const feed = useMemo(
    () => new Feed(() => setVersion((v) => v + 1), actions.fail, actions.computed),
    [actions, session.base], // eslint-disable-line react-hooks/exhaustive-deps
  );
  const versions = session.traces.map((trace) => `${trace.version}/${offsets[trace.id] ?? 0}`);
  useMemo(() => feed.keep(versions), [feed, versions.join()]); // eslint-disable-line react-hooks/exhaustive-deps
  const built = useMemo(
    () => buildRows(session, { folded, pinned, hidden, order, offsets, only }, t),
    [session, folded, pinned, hidden, order, offsets, only, t],
  );
  const data = useMemo(() => actions.data(), [actions, session]); // eslint-disable-line react-hooks/exhaustive-deps
  const timeWindow: TimeWindow = chosen ?? data;
  const plot = Math.max(1, size.width - GUTTER);
  const maxScroll = Math.max(0, heightOf(built) - (size.height - RULER));
  const top = Math.min(scroll, maxScroll);
  const placed = useMemo(() => placeRows(built, top, Math.max(0, size.height - RULER)), [built, top, size.height]);
  const { rows, seen, stuck } = placed;

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
      .filter((row) => row.kind === "track" || row.preview >= 0 || (row.kind === "counter" && !row.folded))
      .map((row) => ({
        trace: row.trace,
        track: Math.max(row.track, row.preview),
        depths: row.preview >= 0 ? 1 : row.depths,
        counter: row.kind === "counter",
      }));
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
      stuck,
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

  useReveal(size.height, setScroll, only === undefined);
  // The lane that keys act on stays in view.
  useEffect(() => {
    const row = rows.find((candidate) => candidate.key === cursor && !candidate.pinned);
    const space = size.height - RULER;
    if (!row || space <= 0) return;
    setScroll((y) =>
      row.y - stuck < y ? row.y - stuck : row.y + row.height > y + space ? row.y + row.height - space : y,
    );
  }, [cursor, size.height, setScroll]); // eslint-disable-line react-hooks/exhaustive-deps
  useWheel(canvas, plot, maxScroll, setScroll);
  const shown: Shown = { rows: seen, top, window: timeWindow, width: size.width, feed, session };

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
      const row = rowAt(shown, at.y);
      lifted.current = row ? { key: row.key, y: at.y } : null;
      return;
    }
    gesture.current = gestureOf(event, at, timeWindow, top);
  };

  const clickGutter = (at: { x: number; y: number }) => {
    const row = rowAt(shown, at.y);
    if (!row) return;
    if (row.track >= 0 && at.x > GUTTER - 24) actions.toggle("pinned", row.key);
    else fold(row);
  };

  /** A lane that is dragged by its label changes places with the one it comes to. */
  const dragLane = (at: { x: number; y: number }) => {
    const own = seen.find((row) => row.key === lifted.current!.key);
    const over = rowAt(shown, at.y);
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
      const label = at.x < GUTTER ? rowAt(shown, at.y) : undefined;
      if (label && label.track >= 0) {
        const track = session.traces[label.trace]?.tracks.find((candidate) => candidate.id === label.track);
        setHover({ ...at, name: label.label, text: track ? contentOf(track, t) : "" });
        return;
      }
      const over = rowAt(shown, at.y);
      const points =
        over?.kind === "counter" && !over.folded ? feed.counter(over.trace, over.track)?.points : undefined;
      if (over && points) {
        const value = counterAt(points, xToTime(timeWindow, plot, at.x - GUTTER));
        setHover(value === null ? null : { ...at, name: formatCounter(over.label, value), text: over.label });
        return;
      }
      const under = sliceAt(shown, at.x, at.y);
      const text = under
        ? (under.count > 1 ? `${t(isMark(under.id) ? "lane.marks" : "lane.slices", under.count)} · ` : "") +
          (under.dur < 0 ? t("details.unfinished") : isMark(under.id) ? t("facts.mark") : formatDuration(under.dur))
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
      const row = rowAt(shown, at.y);
      if (row && Math.abs(at.y - lifted.current.y) <= 4 && row.key === lifted.current.key) clickGutter(at);
      lifted.current = null;
      return;
    }
    if (!g) return;
    if (!g.moved) {
      const under = sliceAt(shown, at.x, at.y);
      if (under && under.id !== -1) void actions.select(under.trace, under.id);
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
    const lowest = (row: Row) => (row.pinned || stuck === 0 ? low : Math.max(low, top + stuck));
    const lanes = rows
      .filter((row) => row.kind === "track" && row.y < high && row.y + row.height > lowest(row))
      .map((row) => ({ trace: row.trace, track: row.track }));
    if (lanes.length > 0) store.set({ area: { begin: from, end: to, lanes }, panel: "area", drawer: true });
  };

  useEffect(() => {
    if (!hasKeys) return undefined;
    const middle = () =>
      pointer.current && pointer.current.x > GUTTER
        ? xToTime(actions.window(), plot, pointer.current.x - GUTTER)
        : null;
    // The lane of the cursor; else the one under the mouse, or that of the selection.
    const under = () => {
      const selected = slice ? `${slice.slice.trace}:${slice.slice.track}` : "";
      return (
        rows.find((row) => row.key === cursor) ??
        (pointer.current ? rowAt(shown, pointer.current.y) : undefined) ??
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
    <div className="canvas-box" ref={box} onPointerEnter={onEnter} onFocus={onEnter}>
      <canvas
        ref={canvas}
        tabIndex={0}
        aria-label={label}
        data-testid={testId}
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
          const found = sliceAt(shown, at.x, at.y);
          if (found && found.id !== -1) void actions.select(found.trace, found.id);
          setMenu({ ...at, row: rowAt(shown, at.y) ?? null });
        }}
        onPointerLeave={() => {
          pointer.current = null;
          setHover(null);
        }}
        onDoubleClick={(event) => {
          const at = place(event);
          const found = sliceAt(shown, at.x, at.y);
          if (found && found.id !== -1) void actions.select(found.trace, found.id, true, true);
        }}
      />
      <Overlays
        hover={hover}
        band={band}
        width={size.width}
        scroll={maxScroll > 0 ? { from: top / heightOf(built), part: (size.height - RULER) / heightOf(built) } : null}
      />
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
    </div>
  );
}
