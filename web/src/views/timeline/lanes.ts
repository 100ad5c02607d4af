/** The rows of the timeline from top to bottom, from the tracks of the traces and the user's choice. */
import { FAMILY_OF_KIND } from "../../api/kinds";
import type { SessionMessage, TraceMessage, TrackMessage } from "../../api/messages";
import { isFilled, isPart, isReady, isShown } from "../../app/traces";
import { formatDuration } from "../../base/format";
import type { Translate } from "../../i18n";
import { COMPUTED, OVERLAP_KINDS } from "./overlap";

export const DEPTH_HEIGHT = 18;
export const HEADER_HEIGHT = 24;
export const COUNTER_HEIGHT = 38;
const GAP = 5;
const THUMBNAIL_HEIGHT = 20;
const THUMBNAIL_DEPTHS = 8;
/** Deeper lanes than this are folded at the start. */
const MANY_COUNTERS = 6;
const MANY_DEPTHS = 3;
/** Share of the screen that pinned lanes may take to stay in view. */
const MOST_STUCK = 0.6;

export interface Row {
  key: string;
  kind: "trace" | "group" | "track" | "counter";
  label: string;
  indent: number;
  y: number;
  height: number;
  folded: boolean;
  pinned: boolean;
  trace: number;
  track: number;
  /** Depths that are drawn. */
  depths: number;
  /** Height of each; a folded lane shows its first depths as thin lines. */
  bar: number;
  family: string;
  /** Shown behind the label: a preview, an offset. */
  note: string;
  /** The lane that stands for what is folded away, drawn thin; -1 for none. */
  preview: number;
  /** The depth at which marks are drawn; -1 for a lane that has none, or shows thin lines only. */
  marks: number;
}

export interface LaneChoice {
  folded: readonly string[];
  pinned: readonly string[];
  hidden: readonly string[];
  order?: readonly string[];
  offsets?: Readonly<Record<number, number>>;
  /** No other trace is shown. */
  only?: number | undefined;
}

/** Things that the user put in order come first, in that order. */
export function inOrder<T>(things: readonly T[], keyOf: (thing: T) => string, order: readonly string[]): T[] {
  if (order.length === 0) return [...things];
  const place = new Map(order.map((key, at) => [key, at]));
  const at = (thing: T) => place.get(keyOf(thing)) ?? order.length;
  return things
    .map((thing, i) => ({ thing, i }))
    .sort((a, b) => at(a.thing) - at(b.thing) || a.i - b.i)
    .map(({ thing }) => thing);
}

/** Order of the ecosystem's viewer: Python, CANN, device, communication, overlap, counters. */
export const FAMILIES = ["host", "api", "device", "communication", "overlap", "counter"] as const;

export function familyOf(track: TrackMessage): string {
  // Ranges of the user as a device saw them.
  if (track.kind === "thread" && track.stream >= 0) return "device";
  return FAMILY_OF_KIND[track.kind] ?? "host";
}

export function isCounter(track: TrackMessage): boolean {
  return track.kind === "counter" || (track.depths === 0 && familyOf(track) === "counter");
}

/** "20 slices · 3 marks". */
export function contentOf(track: TrackMessage, t: Translate): string {
  const parts = isCounter(track) ? [] : [t("lane.slices", track.slices)];
  if (track.marks > 0) parts.push(t("lane.marks", track.marks));
  return parts.join(" · ");
}

export const trackKey = (trace: number, track: number) => `${trace}:${track}`;

export function traceLabel(trace: TraceMessage, t: Translate, others: readonly TraceMessage[] = []): string {
  const name = traceName(trace, others);
  return trace.rank >= 0 ? `${t("lane.rank", trace.rank)} · ${name}` : name;
}

/** With as many of its folders as distinguish it from others of the same name. */
export function traceName(trace: TraceMessage, others: readonly TraceMessage[]): string {
  const twins = others.filter(
    (other) => other !== trace && other.name === trace.name && other.rank === trace.rank && other.path !== trace.path,
  );
  const end = (path: string, parts: number) => path.split("/").slice(-parts).join("/");
  let parts = 1;
  while (twins.some((other) => end(other.path, parts) === end(trace.path, parts))) ++parts;
  return parts > 1 ? end(trace.path, parts) : trace.name;
}

export function trackLabel(track: TrackMessage, t: Translate): string {
  if (track.kind === "python") return t("lane.python", track.name);
  if (track.kind === "mark") return track.name === "" ? t("group.marks") : t("lane.mark", track.name);
  return track.kind === "module" && !/module/i.test(track.name) ? t("lane.module", track.name) : track.name;
}

/** Lanes of one name in a group, where slices overlap, are numbered: "Stream 4", "Stream 4 (2)". */
export function labelsOf(tracks: readonly TrackMessage[], t: Translate): Map<number, string> {
  const seen = new Map<string, number>();
  return new Map(
    tracks.map((track) => {
      const label = trackLabel(track, t);
      const number = (seen.get(label) ?? 0) + 1;
      seen.set(label, number);
      return [track.id, number > 1 ? `${label} (${number})` : label];
    }),
  );
}

/** "path/to/python -u path/to/train.py" -> "python train.py". */
export function shortCommand(name: string): string {
  return name.replace(/^(\S*\/)?(\S+)/, "$2").replace(/^(python[\d.]*) (-\S+ )*(\S*\/)?/, "$1 ");
}

interface Group {
  key: string;
  label: string;
  family: string;
  tracks: TrackMessage[];
}

/** Groups of a trace, host groups by process where there are several. */
export function groupsOf(trace: TraceMessage, t: Translate): Group[] {
  const groups: Group[] = [];
  for (const family of FAMILIES) {
    const tracks = trace.tracks.filter((track) => isFilled(track) && familyOf(track) === family);
    if (tracks.length === 0) continue;
    // Processes that left nothing but marks come last.
    const working = tracks.filter((track) => track.slices > 0);
    const owners = [...new Set([...working, ...tracks].map((track) => track.process))];
    const split = family === "host" && owners.length > 1 ? owners : [null];
    for (const owner of split) {
      const own = owner === null ? tracks : tracks.filter((track) => track.process === owner);
      const process = trace.processes.find((p) => p.id === owner);
      const suffix = process ? ` · ${shortCommand(process.name) || process.pid}` : "";
      groups.push({
        key: `${trace.id}/${family}${owner === null ? "" : `/${owner}`}`,
        label: t(`group.${family}`) + suffix,
        family,
        tracks: own.slice().sort((a, b) => a.sort - b.sort || a.id - b.id),
      });
    }
  }
  return groups;
}

/** Groups that are folded by default ("+key" unfolds). */
function startsFolded(group: Group): boolean {
  return group.family === "counter" && group.tracks.length > MANY_COUNTERS;
}

/** Deep stacks of Python functions would push everything else off the screen. */
export function laneStartsFolded(track: TrackMessage): boolean {
  return track.kind === "python" && track.depths > MANY_DEPTHS;
}

export function isFolded(choice: LaneChoice, key: string, standard: boolean): boolean {
  if (choice.folded.includes(`+${key}`)) return false;
  return standard || choice.folded.includes(key);
}

export function toggleFold(folded: readonly string[], key: string, standard: boolean): string[] {
  const rest = folded.filter((k) => k !== key && k !== `+${key}`);
  const was = isFolded({ folded, pinned: [], hidden: [] }, key, standard);
  if (was === standard) rest.push(standard ? `+${key}` : key);
  return rest;
}

/** The busiest lane of a device, else of the host. */
function previewOf(tracks: readonly TrackMessage[]): number {
  const drawn = tracks.filter((track) => !isCounter(track) && track.slices > 0 && track.id < COMPUTED);
  const device = drawn.filter((track) => familyOf(track) === "device");
  const most = (device.length > 0 ? device : drawn).reduce<TrackMessage | null>(
    (best, track) => (best && best.slices >= track.slices ? best : track),
    null,
  );
  return most?.id ?? -1;
}

class Builder {
  rows: Row[] = [];
  y = 0;
  constructor(private choice: LaneChoice) {}

  header(
    kind: "trace" | "group",
    key: string,
    label: string,
    trace: number,
    family: string,
    indent: number,
    standard: boolean,
    tracks: readonly TrackMessage[] = [],
    note = "",
  ): boolean {
    const folded = isFolded(this.choice, key, standard);
    this.add({
      preview: folded ? previewOf(tracks) : -1,
      key,
      kind,
      label,
      indent,
      height: HEADER_HEIGHT,
      folded,
      pinned: false,
      trace,
      track: -1,
      depths: 0,
      bar: DEPTH_HEIGHT,
      family,
      note,
      marks: -1,
    });
    return folded;
  }

  track(trace: TraceMessage, track: TrackMessage, indent: number, pinned: boolean, label: string) {
    const key = trackKey(trace.id, track.id);
    if (this.choice.hidden.includes(key)) return;
    const folded = isFolded(this.choice, key, laneStartsFolded(track));
    const counter = isCounter(track);
    const thumbnail = folded && track.depths > 1;
    const depths = counter ? 0 : thumbnail ? Math.min(track.depths, THUMBNAIL_DEPTHS) : track.depths;
    const bar = thumbnail ? THUMBNAIL_HEIGHT / depths : DEPTH_HEIGHT;
    const height = counter ? (folded ? HEADER_HEIGHT : COUNTER_HEIGHT) : depths * bar + GAP;
    this.add({
      preview: -1,
      key,
      kind: counter ? "counter" : "track",
      label,
      indent,
      height,
      folded,
      pinned,
      trace: trace.id,
      track: track.id,
      depths,
      bar,
      family: familyOf(track),
      note: "",
      marks: track.marks > 0 && !thumbnail ? track.depths - 1 : -1,
    });
  }

  private add(row: Omit<Row, "y">) {
    this.rows.push({ ...row, y: this.y });
    this.y += row.height;
  }
}

function computedTrack(name: string, number: number): TrackMessage {
  const none = { process: -1, thread: -1, device: -1, stream: -1 };
  return { ...none, id: COMPUTED + number, kind: "overlap", name, sort: number, depths: 1, slices: 1, marks: 0 };
}

export function buildRows(session: SessionMessage, choice: LaneChoice, t: Translate): Row[] {
  const builder = new Builder(choice);
  const order = choice.order ?? [];
  const traces = session.traces.filter(({ id }) => choice.only === undefined || id === choice.only);
  const byRank = traces.filter(isShown).sort((a, b) => a.rank - b.rank || a.id - b.id);
  const ready = inOrder(byRank, (trace) => `${trace.id}`, order);
  if (choice.pinned.length > 0) {
    builder.header("group", "pinned", t("group.pinned"), -1, "pinned", 0, false);
    for (const key of choice.pinned) {
      const [traceId, trackId] = key.split(":").map(Number);
      const trace = ready.find((candidate) => candidate.id === traceId);
      const track = trace?.tracks.find((candidate) => candidate.id === trackId);
      if (trace && track) {
        const rank = ready.length > 1 ? `${trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name} · ` : "";
        builder.track(trace, track, 1, true, rank + trackLabel(track, t));
      }
    }
  }
  for (const trace of ready) {
    const several = ready.length > 1;
    const offset = choice.offsets?.[trace.id] ?? 0;
    const notes = [
      isPart(trace) ? t("lane.preview") : "",
      trace.state === "recording" ? t("lane.recording") : "",
      offset !== 0 ? t("lane.offset", (offset > 0 ? "+" : "") + formatDuration(offset)) : "",
    ];
    const note = notes.filter(Boolean).join(" · ");
    const label = traceLabel(trace, t, session.traces);
    if (
      builder.header(
        "trace",
        `${trace.id}`,
        label,
        trace.id,
        "trace",
        0,
        several && ready.length > 16,
        trace.tracks,
        note,
      )
    )
      continue;
    for (const group of groupsOf(trace, t)) {
      if (builder.header("group", group.key, group.label, trace.id, group.family, 1, startsFolded(group), group.tracks))
        continue;
      const labels = labelsOf(group.tracks, t);
      for (const track of inOrder(group.tracks, (x) => trackKey(trace.id, x.id), order))
        builder.track(trace, track, 2, false, labels.get(track.id)!);
    }
    if (isReady(trace) && !trace.tracks.some((track) => track.kind === "overlap" && track.slices > 0)) {
      const label = t("group.computed");
      if (!builder.header("group", `${trace.id}/computed`, label, trace.id, "overlap", 1, true))
        OVERLAP_KINDS.forEach((kind, i) => builder.track(trace, computedTrack(kind, i), 2, false, kind));
    }
  }
  // What is still to come, and what never will.
  for (const trace of traces.filter((candidate) => !isShown(candidate) && candidate.state !== "ready")) {
    const note = t(`app.${trace.state}` as "app.reading") + (trace.message ? ` · ${trace.message}` : "");
    builder.header("trace", `${trace.id}`, traceLabel(trace, t), trace.id, "trace", 0, false, [], note);
  }
  return builder.rows;
}

export function heightOf(rows: readonly Row[]): number {
  const last = rows.at(-1);
  return last ? last.y + last.height : 0;
}

/** Keys of what can change places with a row: lanes of its group, pinned lanes, or traces. */
export function siblingsOf(rows: readonly Row[], row: Row): string[] {
  if (row.kind === "group") return [];
  if (row.kind === "trace") return rows.filter((r) => r.kind === "trace").map((r) => r.key);
  const at = rows.indexOf(row);
  let first = at;
  let last = at;
  while (first > 0 && rows[first - 1]!.track >= 0) --first;
  while (last + 1 < rows.length && rows[last + 1]!.track >= 0) ++last;
  return rows.slice(first, last + 1).map((r) => r.key);
}

/** The rows that touch [top, top + height), by binary search. */
export function visibleRows(rows: readonly Row[], top: number, height: number): Row[] {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.y + rows[middle]!.height <= top) low = middle + 1;
    else high = middle;
  }
  const found: Row[] = [];
  for (let i = low; i < rows.length && rows[i]!.y < top + height; ++i) found.push(rows[i]!);
  return found;
}

export interface Placed {
  /** All rows, where they are while the others are scrolled by `top`. */
  rows: readonly Row[];
  /** Those that are in view; the ones that stay come first. */
  seen: readonly Row[];
  /** Height of what stays. */
  stuck: number;
}

/** Whether a row belongs to those at the top. */
export const isPinned = (row: Row) => row.pinned || row.key === "pinned";

/** Pinned lanes stay at the top while the others scroll below them, unless they would take most of the screen. */
export function placeRows(rows: readonly Row[], top: number, height: number): Placed {
  const count = rows.findIndex((row) => !isPinned(row));
  const pinned = rows.slice(0, count < 0 ? rows.length : count);
  const stuck = heightOf(pinned);
  if (stuck === 0 || stuck > height * MOST_STUCK) return { rows, seen: visibleRows(rows, top, height), stuck: 0 };
  const moved = pinned.map((row) => ({ ...row, y: row.y + top }));
  const rest = rows.slice(pinned.length);
  return { rows: [...moved, ...rest], seen: [...moved, ...visibleRows(rest, top + stuck, height - stuck)], stuck };
}
