/** What is drawn, fetched from the zoom index: always one window wider than what is seen, the newest
 * wish first, one request under way. Old data stays on screen until new has come. */
import { type LaneRef, api } from "../../api/client";
import type { LaneWindow } from "../../api/decode";
import { colorIndex } from "../../base/color";
import type { Computed } from "./computed";
import { COMPUTED, computedName, laneOf } from "./overlap";
import { type TimeWindow, spanOf } from "./viewport";

export interface TrackData {
  window: TimeWindow;
  pixel: number;
  lanes: LaneWindow[];
}

export interface CounterData {
  window: TimeWindow;
  pixel: number;
  points: Float64Array;
}

export interface Wish extends LaneRef {
  counter: boolean;
}

/** A power of two of nanoseconds, not wider than a pixel. */
export function pixelFor(window: TimeWindow, width: number): number {
  return Math.max(1, 2 ** Math.floor(Math.log2(Math.max(1, spanOf(window) / Math.max(width, 1)))));
}

/** Half a screen more on each side. */
export function wider(window: TimeWindow): TimeWindow {
  const more = spanOf(window) / 2;
  return { begin: window.begin - more, end: window.end + more };
}

type NamesOfTrace = readonly [trace: number, names: readonly number[]];

/** Numbers of names for several requests, each short enough for an address. */
export function parted(ids: readonly NamesOfTrace[], most = 800): NamesOfTrace[][] {
  const parts: NamesOfTrace[][] = [];
  let room = 0;
  for (const [trace, names] of ids) {
    for (let from = 0; from < names.length;) {
      if (room === 0) {
        parts.push([]);
        room = most;
      }
      const some = names.slice(from, from + room);
      parts.at(-1)!.push([trace, some]);
      from += some.length;
      room -= some.length;
    }
  }
  return parts;
}

const key = (trace: number, track: number) => `${trace}:${track}`;

export class Feed {
  private tracks = new Map<string, TrackData & { depths: number }>();
  private counters = new Map<string, CounterData>();
  private hues = new Map<number, number[]>();
  private names = new Map<number, Map<number, string>>();
  private wanted: { wishes: Wish[]; window: TimeWindow; width: number } | null = null;
  private busy = false;
  private versions: readonly string[] = [];

  constructor(
    private changed: () => void,
    private failed: (error: Error) => void,
    private computed: Computed,
  ) {}

  /** `versions`, by trace: what was fetched of others than these is forgotten. */
  keep(versions: readonly string[]) {
    this.versions.forEach((before, trace) => {
      if (versions[trace] === before) return;
      for (const data of [this.tracks, this.counters]) {
        for (const name of data.keys()) if (name.startsWith(`${trace}:`)) data.delete(name);
      }
      this.hues.delete(trace);
      this.names.delete(trace);
    });
    this.versions = versions;
  }

  track(trace: number, track: number): TrackData | undefined {
    return this.tracks.get(key(trace, track));
  }

  counter(trace: number, track: number): CounterData | undefined {
    return this.counters.get(key(trace, track));
  }

  name(trace: number, id: number): string | undefined {
    return id < 0 ? (computedName(id) ?? "") : this.names.get(trace)?.get(id);
  }

  /** Which of so many colours a name has; -1 while it is not known. */
  hue(trace: number, id: number, colors: number): number {
    if (id < 0) return -1;
    let hues = this.hues.get(trace);
    if (!hues) this.hues.set(trace, (hues = []));
    const found = hues[id];
    if (found !== undefined) return found;
    const name = this.names.get(trace)?.get(id);
    return name === undefined ? -1 : (hues[id] = colorIndex(name, colors));
  }

  want(wishes: Wish[], window: TimeWindow, width: number) {
    this.wanted = { wishes, window, width };
    void this.pump();
  }

  private fits(data: { window: TimeWindow; pixel: number } | undefined, window: TimeWindow, pixel: number): boolean {
    return (
      data !== undefined && data.pixel === pixel && data.window.begin <= window.begin && data.window.end >= window.end
    );
  }

  private async pump() {
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.wanted) {
        const { wishes, window, width } = this.wanted;
        this.wanted = null;
        const pixel = pixelFor(window, width);
        await this.computeTracks(
          wishes.filter((w) => w.track >= COMPUTED),
          window,
          pixel,
        );
        await this.fetchTracks(
          wishes.filter((w) => !w.counter && w.track < COMPUTED),
          window,
          pixel,
        );
        await this.fetchCounters(
          wishes.filter((w) => w.counter),
          window,
          pixel,
        );
      }
    } catch (error) {
      this.failed(error as Error);
    } finally {
      this.busy = false;
    }
  }

  private async fetchTracks(wishes: Wish[], window: TimeWindow, pixel: number) {
    const missing = wishes.filter((wish) => {
      const data = this.tracks.get(key(wish.trace, wish.track));
      return !this.fits(data, window, pixel) || data!.depths < (wish.depths ?? 0);
    });
    if (missing.length === 0) return;
    const whole = wider(window);
    // Kept below the length of an address that the server takes.
    for (let i = 0; i < missing.length; i += 300) {
      const part = missing.slice(i, i + 300);
      const lanes = await api.window(part, whole.begin, whole.end, pixel);
      for (const wish of part) {
        this.tracks.set(key(wish.trace, wish.track), { window: whole, pixel, lanes: [], depths: wish.depths ?? 0 });
      }
      for (const lane of lanes) this.tracks.get(key(lane.trace, lane.track))?.lanes.push(lane);
      this.changed();
      await this.fetchNames(lanes);
    }
  }

  /** Intervals of the whole trace come once; few enough to be cut here. */
  private async computeTracks(wishes: Wish[], window: TimeWindow, pixel: number) {
    const missing = wishes.filter((wish) => !this.fits(this.tracks.get(key(wish.trace, wish.track)), window, pixel));
    const whole = wider(window);
    for (const { trace, track } of missing) {
      const intervals = await this.computed.intervals(trace);
      const kind = track - COMPUTED;
      const lanes = [laneOf(intervals[kind]!, trace, kind, whole, pixel)];
      this.tracks.set(key(trace, track), { window: whole, pixel, lanes, depths: 1 });
    }
    if (missing.length > 0) this.changed();
  }

  private async fetchCounters(wishes: Wish[], window: TimeWindow, pixel: number) {
    const whole = wider(window);
    const missing = wishes.filter((wish) => !this.fits(this.counters.get(key(wish.trace, wish.track)), window, pixel));
    await Promise.all(
      missing.map(async (wish) => {
        const points = await api.counter(wish.trace, wish.track, whole.begin, whole.end, pixel);
        this.counters.set(key(wish.trace, wish.track), { window: whole, pixel, points });
      }),
    );
    if (missing.length > 0) this.changed();
  }

  private async fetchNames(lanes: LaneWindow[]) {
    const unknown = new Map<number, Set<number>>();
    for (const lane of lanes) {
      const known = this.names.get(lane.trace);
      for (const id of lane.name) {
        if (id < 0 || known?.has(id)) continue;
        if (!unknown.has(lane.trace)) unknown.set(lane.trace, new Set());
        unknown.get(lane.trace)!.add(id);
      }
    }
    for (const part of parted([...unknown].map(([trace, ids]) => [trace, [...ids]] as const))) {
      const texts = await api.names(part);
      let at = 0;
      for (const [trace, ids] of part) {
        if (!this.names.has(trace)) this.names.set(trace, new Map());
        for (const id of ids) this.names.get(trace)!.set(id, texts[at++] ?? "");
      }
    }
    if (unknown.size > 0) this.changed();
  }
}
