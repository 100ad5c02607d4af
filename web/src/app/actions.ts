/** What the user can do with the timeline, independent of keys, mouse and palette. */
import { api } from "../api/client";
import { isComputed, isMark, markIdOf } from "../api/marks";
import type { SessionMessage, SliceMessage, SliceRefMessage, TraceMessage, TrackMessage } from "../api/messages";
import { Computed } from "../views/timeline/computed";
import { type TimeWindow, focusOn } from "../views/timeline/viewport";
import type { Store } from "./state";
import { isFilled, isShown } from "./traces";

/** From the first begin to the last end of what is ready. */
export function dataWindow(session: SessionMessage | null): TimeWindow {
  const ready = session?.traces.filter((t) => isShown(t) && t.end > t.begin) ?? [];
  if (ready.length === 0) return { begin: 0, end: 1000 };
  return { begin: Math.min(...ready.map((t) => t.begin)), end: Math.max(...ready.map((t) => t.end)) };
}

/** The rows of the name of a slice, or of a mark that is none. */
export function likeOf({ id, name }: SliceRefMessage): { from: string; id: string; number: number } {
  const text = `'${name.replaceAll("'", "''")}'`;
  return isMark(id)
    ? { from: `mark WHERE slice_id IS NULL AND message = ${text}`, id: "mark_id", number: markIdOf(id) }
    : { from: `slice WHERE name = ${text}`, id: "slice_id", number: id };
}

export class Actions {
  private zooms: TimeWindow[] = [];
  readonly computed = new Computed(() => this.store.get().session);
  constructor(private store: Store) {}

  data = () => dataWindow(this.store.get().session);
  window = (): TimeWindow => this.store.get().window ?? this.data();

  setWindow = (window: TimeWindow, remember = false) => {
    if (remember) this.zooms = [...this.zooms.slice(-999), this.window()];
    this.store.set({ window });
  };

  undoZoom = () => {
    const before = this.zooms.pop();
    if (before) this.store.set({ window: before });
  };

  fit = () => {
    this.zooms.push(this.window());
    this.store.set({ window: null });
  };

  fail = (error: unknown) => this.store.set({ error: error instanceof Error ? error.message : String(error) });

  /** Selects a slice; `reveal` also brings it into view. */
  select = async (trace: number, id: number, reveal = false, tight = false) => {
    const { panel } = this.store.get();
    this.store.set({ selection: { trace, id }, drawer: true, panel: panel === "search" ? "search" : "details" });
    const slice = await this.load(trace, id);
    if (slice && reveal) this.reveal(slice.slice, tight);
  };

  /** Fetches what is selected; null where it is no more, or there is none. */
  load = async (trace: number, id: number): Promise<SliceMessage | null> => {
    try {
      const slice = await (isComputed(id) ? this.computed.slice(trace, id) : api.slice(trace, id));
      const now = this.store.get().selection;
      if (now?.trace !== trace || now.id !== id) return null;
      this.store.set({ slice });
      return slice;
    } catch (error) {
      this.fail(error);
      return null;
    }
  };

  reveal = (slice: SliceRefMessage, tight = false) => {
    const next = focusOn(this.window(), slice.ts, slice.dur, this.data(), tight);
    this.setWindow(next, true);
    const key = `${slice.trace}:${slice.track}`;
    const { folded, hidden, view } = this.store.get();
    this.store.set({
      view: view === "timeline" ? view : "timeline",
      hidden: hidden.filter((k) => k !== key),
      folded: folded.filter((k) => k !== key),
    });
    window.dispatchEvent(new CustomEvent("sonde-reveal", { detail: slice }));
  };

  /** Brings a lane into view, wherever it is folded or hidden, and lets keys act on it. */
  showLane = (trace: TraceMessage, track: TrackMessage, groupKey: string) => {
    const key = `${trace.id}:${track.id}`;
    const { folded, hidden } = this.store.get();
    // Counters start folded where they are many: "+" unfolds them.
    const owners = [String(trace.id), groupKey];
    const unfolded = groupKey.endsWith("/counter") ? [`+${groupKey}`] : [];
    this.store.set({
      view: "timeline",
      cursor: key,
      hidden: hidden.filter((k) => k !== key),
      folded: [...folded.filter((k) => !owners.includes(k)), ...unfolded],
    });
  };

  deselect = () => this.store.set({ selection: null, slice: null });

  neighbour = async (step: 1 | -1, same: "name" | "lane") => {
    const { selection } = this.store.get();
    if (!selection) return;
    try {
      const { trace, id } = selection;
      const next = isComputed(id)
        ? await this.computed.neighbour(trace, id, step)
        : (await api.neighbour(trace, id, step, same)).slices[0];
      if (next) await this.select(next.trace, next.id, true);
    } catch (error) {
      this.fail(error);
    }
  };

  follow = (out: boolean) => {
    const flow = this.store.get().slice?.flows.find((candidate) => candidate.out === out);
    if (flow) void this.select(flow.slice.trace, flow.slice.id, true);
  };

  parent = () => {
    const above = this.store.get().slice?.ancestors.at(-1);
    if (above) void this.select(above.trace, above.id, true);
  };

  focus = () => {
    const slice = this.store.get().slice?.slice;
    if (!slice) return;
    const before = this.window();
    const next = focusOn(before, slice.ts, slice.dur, this.data());
    // A second press, when it is in view already, fits it to the screen.
    this.reveal(slice, next.begin === before.begin && next.end === before.end);
  };

  /** `show`: also bring the list of matches to the front. */
  search = async (show = true) => {
    const { search } = this.store.get();
    if (search.text === "") {
      this.store.set({ hits: null, hit: -1 });
      return;
    }
    try {
      const { text, ...options } = search;
      const hits = await this.computed.addHits(await api.search(text, { ...options, trace: -1 }), search);
      this.store.set({ hits, hit: -1, error: "", ...(show ? { panel: "search" as const, drawer: true } : {}) });
    } catch (error) {
      this.fail(error);
    }
  };

  /** Lists the slices of this very name, in the timeline. */
  searchName = async (name: string) => {
    this.store.set({
      view: "timeline",
      search: { text: name, regex: false, case: true, whole: true, args: false },
    });
    await this.search();
  };

  goToHit = (index: number) => {
    const { hits } = this.store.get();
    if (!hits || hits.slices.length === 0) return;
    const hit = (index + hits.slices.length) % hits.slices.length;
    const slice = hits.slices[hit]!;
    this.store.set({ hit });
    void this.select(slice.trace, slice.id, true);
  };

  stepHit = (step: 1 | -1) => {
    const { hits, hit } = this.store.get();
    if (!hits) return;
    if (hit >= 0) return this.goToHit(hit + step);
    // The first step goes to what is nearest in view.
    const from = this.window().begin;
    const next = hits.slices.findIndex((slice) => slice.ts >= from);
    this.goToHit(step === 1 ? Math.max(next, 0) : next - 1);
  };

  areaFromSelection = () => {
    const { area, slice } = this.store.get();
    if (area) return this.store.set({ area: null });
    if (!slice) return;
    const { ts, dur, trace, track } = slice.slice;
    this.store.set({
      area: { begin: ts, end: ts + Math.max(dur, 1), lanes: [{ trace, track }] },
      panel: "area",
      drawer: true,
    });
  };

  mark = (at: number | null, name: string) => {
    const { marks, slice, area } = this.store.get();
    const range =
      area ?? (slice ? { begin: slice.slice.ts, end: slice.slice.ts + Math.max(0, slice.slice.dur) } : null);
    const place = range ?? (at === null ? null : { begin: at, end: at });
    if (!place) return;
    const mark = { begin: place.begin, end: place.end, name, color: marks.length % 12 };
    this.store.set({ marks: [...marks, mark], panel: "marks", drawer: true });
  };

  /** Shows traces later than they were. */
  setOffsets = async (offsets: Record<number, number>) => {
    api.setOffsets(offsets);
    try {
      const session = await api.session();
      const { selection, slice } = this.store.get();
      this.store.set({ offsets, session, hits: null, hit: -1 });
      if (selection && slice) await this.load(selection.trace, selection.id);
    } catch (error) {
      this.fail(error);
    }
  };

  /** All traces begin together. */
  alignStarts = () => {
    const { session, offsets } = this.store.get();
    const shown = session?.traces.filter(isShown) ?? [];
    if (shown.length === 0) return;
    const first = Math.min(...shown.map((trace) => trace.begin));
    const moved = shown.map((trace) => [trace.id, (offsets[trace.id] ?? 0) + first - trace.begin]);
    this.setOffsets(Object.fromEntries(moved)).then(this.fit, this.fail);
  };

  setAnchor = () => this.store.set({ anchor: this.store.get().slice?.slice ?? null });

  /** Moves the selected slice's trace so that it begins, or ends, with the anchor. */
  alignToAnchor = (edge: "begin" | "end") => {
    const { anchor, slice, offsets } = this.store.get();
    if (!anchor || !slice || anchor.trace === slice.slice.trace) return;
    const at = (s: SliceRefMessage) => s.ts + (edge === "end" ? Math.max(0, s.dur) : 0);
    const { trace } = slice.slice;
    void this.setOffsets({ ...offsets, [trace]: Math.round((offsets[trace] ?? 0) + at(anchor) - at(slice.slice)) });
  };

  /** Moves all other traces so that their slice of the same name and number begins or ends with the selected one. */
  alignAll = async (edge: "begin" | "end") => {
    const { slice, session, offsets } = this.store.get();
    if (!slice || !session || isComputed(slice.slice.id)) return;
    const at = (ts: number, dur: number) => ts + (edge === "end" ? Math.max(0, dur) : 0);
    const { trace } = slice.slice;
    const like = likeOf(slice.slice);
    const next = { ...offsets };
    try {
      const place = await api.sql(
        `SELECT count(*) FROM ${like.from} AND (ts, ${like.id}) < (SELECT (ts, ${like.id}) FROM ${like.from} AND ${like.id} = ${like.number})`,
        trace,
      );
      const wanted = at(slice.slice.ts, slice.slice.dur);
      for (const other of session.traces.filter((x) => x.id !== trace && x.state === "ready")) {
        const found = await api.sql(
          `SELECT ts - ${session.base}, dur FROM ${like.from} ORDER BY ts, ${like.id} LIMIT 1 OFFSET ${String(place.rows[0]![0])}`,
          other.id,
        );
        const row = found.rows[0];
        if (row) next[other.id] = Math.round(wanted - at(Number(row[0]), Number(row[1])));
      }
      await this.setOffsets(next);
    } catch (error) {
      this.fail(error);
    }
  };

  /** Pins all lanes of that name, of every trace. */
  pinSameNamed = (name: string) => {
    const { session, pinned } = this.store.get();
    const keys = (session?.traces ?? [])
      .filter(isShown)
      .flatMap((trace) => trace.tracks.filter((t) => t.name === name && isFilled(t)).map((t) => `${trace.id}:${t.id}`));
    this.store.set({ pinned: [...new Set([...pinned, ...keys])].slice(0, 100) });
  };

  /** Puts a lane, or a trace, before or after its neighbour; `siblings` are their keys as shown. */
  move = (key: string, step: 1 | -1, siblings: readonly string[]) => {
    const at = siblings.indexOf(key);
    const to = at + step;
    if (at < 0 || to < 0 || to >= siblings.length) return;
    const next = [...siblings];
    next.splice(at, 1);
    next.splice(to, 0, key);
    const { order, pinned } = this.store.get();
    if (siblings.every((k) => pinned.includes(k)) && pinned.includes(key)) return this.store.set({ pinned: next });
    this.store.set({ order: [...order.filter((k) => !siblings.includes(k)), ...next] });
  };

  toggle = (list: "pinned" | "hidden", key: string) => {
    const now = this.store.get()[list];
    this.store.set({ [list]: now.includes(key) ? now.filter((k) => k !== key) : [...now, key] });
  };
}
