/** The computed lanes as lanes like others: their slices are described, found, summed and walked along. */
import { api } from "../../api/client";
import type {
  AreaMessage,
  SessionMessage,
  SliceListMessage,
  SliceMessage,
  SliceRefMessage,
  TraceMessage,
} from "../../api/messages";
import { mergeAreas } from "../../api/shift";
import type { Area, SearchOptions } from "../../app/state";
import { isFilled, isReady } from "../../app/traces";
import { formatDuration } from "../../base/format";
import { familyOf, isCounter } from "./lanes";
import {
  COMPUTED,
  type Intervals,
  OVERLAP_KINDS,
  computedId,
  intervalsOf,
  placeOfComputed,
  sliceOf,
  slicesIn,
  totalOf,
} from "./overlap";

const FREE = OVERLAP_KINDS.indexOf("Free");
/** Of what the host did in a gap. */
const MOST_MEANWHILE = 8;

/** Traces that bring no such lanes of their own. */
const needsComputed = (trace: TraceMessage) =>
  isReady(trace) && !trace.tracks.some((track) => track.kind === "overlap" && track.slices > 0);

export class Computed {
  private asked = new Map<string, Promise<Intervals[]>>();
  constructor(private session: () => SessionMessage | null) {}

  /** Asked once for a trace as it is, and where it is shown. */
  intervals(id: number): Promise<Intervals[]> {
    const session = this.session();
    const key = `${id}/${session?.traces[id]?.version}/${api.offsetOf(id)}`;
    let asked = this.asked.get(key);
    if (!asked) {
      asked = api
        .wholeRecipe(id, "overlap_analysis", "type, device_id, start_ns")
        .then((table) => intervalsOf(table, session?.base ?? "0", api.offsetOf(id)));
      asked.catch(() => this.asked.delete(key));
      this.asked.set(key, asked);
    }
    return asked;
  }

  async slice(trace: number, id: number): Promise<SliceMessage> {
    const slice = sliceOf(await this.intervals(trace), trace, id);
    if (!slice) throw new Error(`there is no slice ${id}`);
    const none = { stack: [], ancestors: [], flows: [] };
    const facts = placeOfComputed(id)[0] === FREE ? await this.meanwhile(slice) : [];
    return { ...none, slice, category: "overlap", self: slice.dur, children: 0, facts };
  }

  /** What the host did while the device was free: what took longest by itself. */
  private async meanwhile({ trace, ts, dur }: SliceRefMessage) {
    const tracks = this.session()?.traces[trace]?.tracks ?? [];
    const lanes = tracks
      .filter((track) => isFilled(track) && !isCounter(track) && ["host", "api"].includes(familyOf(track)))
      .filter((track) => track.kind === "thread" || track.kind === "api")
      .map((track) => ({ trace, track: track.id }));
    if (lanes.length === 0) return [];
    const { rows } = await api.area(lanes, ts, ts + dur);
    return rows
      .filter((row) => row.self > 0)
      .sort((a, b) => b.self - a.self)
      .slice(0, MOST_MEANWHILE)
      .map((row) => ({ group: "meanwhile", key: row.name, value: `${formatDuration(row.self)} · ${row.count} ×` }));
  }

  /** The one before or behind on its lane, whose slices have one name. */
  async neighbour(trace: number, id: number, step: 1 | -1): Promise<SliceRefMessage | null> {
    const [kind, at] = placeOfComputed(id);
    return at + step < 0 ? null : sliceOf(await this.intervals(trace), trace, computedId(kind, at + step));
  }

  /** Hits of the server, and those of ours. */
  async addHits(hits: SliceListMessage, search: SearchOptions): Promise<SliceListMessage> {
    const kinds = OVERLAP_KINDS.flatMap((name, kind) => (isHit(name, search) ? [kind] : []));
    const traces = kinds.length === 0 ? [] : (this.session()?.traces.filter(needsComputed) ?? []);
    const found = await Promise.all(
      traces.map(async ({ id }) => {
        const intervals = await this.intervals(id);
        return kinds.flatMap((kind) => slicesIn(intervals, id, kind, { begin: -Infinity, end: Infinity }));
      }),
    );
    const own = found.flat();
    if (own.length === 0) return hits;
    return { total: hits.total + own.length, slices: [...hits.slices, ...own].sort((a, b) => a.ts - b.ts) };
  }

  async area({ lanes, begin, end }: Area, signal?: AbortSignal): Promise<AreaMessage> {
    const stored = lanes.filter((lane) => lane.track < COMPUTED);
    const areas = stored.length > 0 ? [await api.area(stored, begin, end, signal)] : [];
    for (const { trace, track } of lanes.filter((lane) => lane.track >= COMPUTED)) {
      const slices = slicesIn(await this.intervals(trace), trace, track - COMPUTED, { begin, end });
      areas.push(totalOf(slices, { begin, end }));
    }
    return mergeAreas(areas);
  }

  async occurrences({ lanes, begin, end }: Area, name: string): Promise<SliceListMessage> {
    const stored = lanes.filter((lane) => lane.track < COMPUTED);
    const list = stored.length > 0 ? await api.occurrences(stored, begin, end, name) : { total: 0, slices: [] };
    const own: SliceRefMessage[] = [];
    for (const { trace, track } of lanes) {
      if (track < COMPUTED || OVERLAP_KINDS[track - COMPUTED] !== name) continue;
      own.push(...slicesIn(await this.intervals(trace), trace, track - COMPUTED, { begin, end }));
    }
    return { total: list.total + own.length, slices: [...list.slices, ...own].sort((a, b) => a.ts - b.ts) };
  }
}

/** As the server searches (src/serve/handlers/search.cc). */
function isHit(name: string, { text, regex, case: exact, whole }: SearchOptions): boolean {
  if (regex) {
    try {
      return new RegExp(text, exact ? "" : "i").test(name);
    } catch {
      return false; // The server reports what is wrong with it.
    }
  }
  const [own, wanted] = exact ? [name, text] : [name.toLowerCase(), text.toLowerCase()];
  return whole ? own === wanted : own.includes(wanted);
}
