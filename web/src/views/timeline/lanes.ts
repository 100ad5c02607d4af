/** The rows of the timeline from top to bottom, from the tracks of the traces and the user's choice. */
import type { SessionMessage, TraceMessage, TrackMessage } from "../../api/messages";
import type { Translate } from "../../i18n";

export const DEPTH_HEIGHT = 18;
export const HEADER_HEIGHT = 24;
export const COUNTER_HEIGHT = 38;
const GAP = 5;
/** Deeper lanes than this are folded at the start. */
const MANY_COUNTERS = 6;

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
  family: string;
}

export interface LaneChoice {
  folded: readonly string[];
  pinned: readonly string[];
  hidden: readonly string[];
}

const FAMILY_OF_KIND: Record<string, string> = {
  thread: "host",
  python: "host",
  module: "host",
  span: "host",
  gc: "host",
  mark: "host",
  api: "api",
  stream: "device",
  communication_group: "communication",
  communication_plane: "communication",
  collective_work: "communication",
  overlap: "overlap",
  counter: "counter",
  memory: "counter",
};

/** Order of the ecosystem's viewer: Python, CANN, device, communication, overlap, counters. */
export const FAMILIES = ["host", "api", "device", "communication", "overlap", "counter"] as const;

export function familyOf(track: TrackMessage): string {
  return FAMILY_OF_KIND[track.kind] ?? "host";
}

export function isCounter(track: TrackMessage): boolean {
  return track.kind === "counter" || (track.depths === 0 && familyOf(track) === "counter");
}

export const trackKey = (trace: number, track: number) => `${trace}:${track}`;

export function traceLabel(trace: TraceMessage, t: Translate): string {
  return trace.rank >= 0 ? `${t("lane.rank", trace.rank)} · ${trace.name}` : trace.name;
}

export function trackLabel(track: TrackMessage, t: Translate): string {
  return track.kind === "python" ? t("lane.python", track.name) : track.name;
}

/** "path/to/python -u train.py" -> "python train.py". */
export function shortCommand(name: string): string {
  return name.replace(/^(\S*\/)?(\S+)/, "$2").replace(/^(python[\d.]*) (-\S+ )+/, "$1 ");
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
    const tracks = trace.tracks.filter((track) => track.slices > 0 && familyOf(track) === family);
    if (tracks.length === 0) continue;
    const owners = [...new Set(tracks.map((track) => track.process))];
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

/** Groups that are folded as long as the user has not said otherwise ("+key" unfolds). */
function startsFolded(group: Group): boolean {
  return group.family === "counter" && group.tracks.length > MANY_COUNTERS;
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
  ): boolean {
    const folded = isFolded(this.choice, key, standard);
    this.add({
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
      family,
    });
    return folded;
  }

  track(trace: TraceMessage, track: TrackMessage, indent: number, pinned: boolean, label: string) {
    const key = trackKey(trace.id, track.id);
    if (this.choice.hidden.includes(key)) return;
    const folded = isFolded(this.choice, key, false);
    const counter = isCounter(track);
    const depths = counter ? 0 : folded ? 1 : track.depths;
    const height = counter ? (folded ? HEADER_HEIGHT : COUNTER_HEIGHT) : depths * DEPTH_HEIGHT + GAP;
    this.add({
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
      family: familyOf(track),
    });
  }

  private add(row: Omit<Row, "y">) {
    this.rows.push({ ...row, y: this.y });
    this.y += row.height;
  }
}

export function buildRows(session: SessionMessage, choice: LaneChoice, t: Translate): Row[] {
  const builder = new Builder(choice);
  const ready = session.traces.filter((trace) => trace.state === "ready");
  ready.sort((a, b) => a.rank - b.rank || a.id - b.id);
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
    if (
      builder.header("trace", `${trace.id}`, traceLabel(trace, t), trace.id, "trace", 0, several && ready.length > 16)
    )
      continue;
    for (const group of groupsOf(trace, t)) {
      if (builder.header("group", group.key, group.label, trace.id, group.family, 1, startsFolded(group))) continue;
      for (const track of group.tracks) builder.track(trace, track, 2, false, trackLabel(track, t));
    }
  }
  return builder.rows;
}

export function heightOf(rows: readonly Row[]): number {
  const last = rows.at(-1);
  return last ? last.y + last.height : 0;
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
