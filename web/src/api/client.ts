/** Requests to the server that the page came from. */
import { type LaneWindow, decodeWindow } from "./decode";
import type {
  AdviceMessage,
  AdvisorMessage,
  AreaMessage,
  ClusterMessage,
  ComparisonMessage,
  FindingMessage,
  FlameMessage,
  FolderMessage,
  LiveMessage,
  OpenedRankMessage,
  ProgressMessage,
  RankTileMessage,
  ResultMessage,
  ResultsMessage,
  SchemaTableMessage,
  SessionMessage,
  SliceListMessage,
  SliceMessage,
  TableMessage,
} from "./messages";
import { type Offsets, byOffset, mergeAreas, shiftList, shiftSession, shiftSlice, shiftWindow } from "./shift";

export interface LaneRef {
  trace: number;
  track: number;
  depths?: number;
}

export class ApiError extends Error {}

type Parameters = Record<string, string | number | boolean | undefined>;

function address(path: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    query.set(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return `${path}?${query.toString()}`;
}

async function request(path: string, parameters: Parameters, init: RequestInit = {}) {
  const answer = await fetch(address(path, parameters), init);
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = (JSON.parse(text) as { error?: string }).error ?? message;
  } catch {
    // Not an answer of ours: the status is all that is known.
  }
  throw new ApiError(message);
}

async function json<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, parameters, signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** That the server gives in one answer. */
export const MOST_ROWS = 100_000;

/** A statement over a lake names no trace. */
export const WHOLE_LAKE = -2;

let statements = 0;
/** Distinguishes statements of this page from those of another one. */
const page = Math.random().toString(36).slice(2);

export function laneList(lanes: readonly LaneRef[]): string {
  return lanes.map((l) => `${l.trace}:${l.track}:${l.depths ?? 0}`).join(",");
}

/** "0-15,20" */
export function ranges(numbers: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && number <= last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join();
}

const whole = (begin: number, end: number) => ({ begin: Math.floor(begin), end: Math.ceil(end) });

/** How much later each trace is shown than it was. */
let offsets: Offsets = {};

const post = (body: string) => ({ method: "POST", body });

export const api = {
  setOffsets: (now: Offsets) => void (offsets = now),
  offsetOf: (trace: number) => offsets[trace] ?? 0,
  session: async () => shiftSession(await json<SessionMessage>("/api/session", {}), offsets),
  progress: () => json<ProgressMessage[]>("/api/progress", {}),
  open: (path: string) => request("/api/open", { path }, { method: "POST" }),
  browse: (path: string) => json<FolderMessage>("/api/browse", { path }),
  live: () => json<LiveMessage[]>("/api/live", {}),
  liveStart: async (options: object) =>
    (await (await request("/api/live/start", {}, post(JSON.stringify(options)))).json()) as LiveMessage[],
  liveStop: async () => (await (await request("/api/live/stop", {}, post(""))).json()) as LiveMessage[],
  async window(
    lanes: readonly LaneRef[],
    begin: number,
    end: number,
    pixel: number,
    signal?: AbortSignal,
  ): Promise<LaneWindow[]> {
    const parts = byOffset(lanes, offsets).map(async ([by, part]) => {
      const answer = await request(
        "/api/window",
        { lanes: laneList(part), ...whole(begin - by, end - by), pixel },
        signal ? { signal } : {},
      );
      return decodeWindow(await answer.arrayBuffer()).map((lane) => shiftWindow(lane, { [lane.trace]: by }));
    });
    return (await Promise.all(parts)).flat();
  },
  async counter(trace: number, track: number, begin: number, end: number, pixel: number): Promise<Float64Array> {
    const by = offsets[trace] ?? 0;
    const answer = await request("/api/counter", { trace, track, ...whole(begin - by, end - by), pixel });
    const points = new Float64Array(await answer.arrayBuffer());
    for (let i = 0; by !== 0 && i < points.length; i += 4) points[i]! += by;
    return points;
  },
  /** Texts in the order asked for; `ids` by trace. */
  names: (ids: readonly (readonly [trace: number, names: readonly number[]])[]) =>
    json<string[]>("/api/names", { ids: ids.map(([trace, names]) => `${trace}:${names.join(".")}`).join() }),
  slice: async (trace: number, id: number) =>
    shiftSlice(await json<SliceMessage>("/api/slice", { trace, id }), offsets),
  neighbour: async (trace: number, id: number, step: 1 | -1, same: "name" | "lane") =>
    shiftList(await json<SliceListMessage>("/api/neighbour", { trace, id, step, same }), offsets),
  search: async (q: string, options: { regex: boolean; case: boolean; whole: boolean; args: boolean; trace: number }) =>
    shiftList(await json<SliceListMessage>("/api/search", { q, ...options }), offsets),
  area: async (lanes: readonly LaneRef[], begin: number, end: number, signal?: AbortSignal) =>
    mergeAreas(
      await Promise.all(
        byOffset(lanes, offsets).map(([by, part]) =>
          json<AreaMessage>("/api/area", { lanes: laneList(part), ...whole(begin - by, end - by) }, signal),
        ),
      ),
    ),
  async occurrences(lanes: readonly LaneRef[], begin: number, end: number, name: string): Promise<SliceListMessage> {
    const parts = await Promise.all(
      byOffset(lanes, offsets).map(([by, part]) =>
        json<SliceListMessage>("/api/occurrences", { lanes: laneList(part), ...whole(begin - by, end - by), name }),
      ),
    );
    return shiftList(
      { total: parts.reduce((sum, part) => sum + part.total, 0), slices: parts.flatMap((part) => part.slices) },
      offsets,
    );
  },
  /** Of lanes with several offsets the window of the first holds. */
  flame: (lanes: readonly LaneRef[], begin: number, end: number, from: "slices" | "stacks", signal?: AbortSignal) => {
    const by = offsets[lanes[0]?.trace ?? -1] ?? 0;
    return json<FlameMessage>("/api/flame", { lanes: laneList(lanes), ...whole(begin - by, end - by), from }, signal);
  },
  /** A tile of a map of more ranks than are read. */
  rankMap: (
    of: {
      map: number;
      measure: string;
      middle: boolean;
      order: boolean;
      first: number;
      ranks: number;
      firstStep: number;
      steps: number;
    },
    signal?: AbortSignal,
  ) => {
    const { firstStep, ...others } = of;
    return json<RankTileMessage>("/api/rank_map", { ...others, first_step: firstStep }, signal);
  },
  openRank: async (map: number, rank: number) =>
    (await (await request("/api/rank", { map, rank }, { method: "POST" })).json()) as OpenedRankMessage,
  recipe: (trace: number, name: string, signal?: AbortSignal) =>
    json<TableMessage>("/api/recipe", { trace, name }, signal),
  /** The same result of several traces; some may be left out where the answer would grow too long. */
  results: (traces: readonly number[], name: string, signal?: AbortSignal) =>
    json<ResultsMessage>("/api/results", { traces: ranges(traces), name }, signal),
  /** All rows of an analysis, however many; an answer holds so many at most. */
  async wholeRecipe(trace: number, name: string, order: string): Promise<TableMessage> {
    const first = await api.recipe(trace, name);
    if (first.complete) return first;
    let rows: TableMessage["rows"] = [];
    for (;;) {
      const statement = `SELECT * FROM ${name} ORDER BY ${order} LIMIT ${MOST_ROWS} OFFSET ${rows.length}`;
      const part = await api.sql(statement, trace, MOST_ROWS);
      rows = rows.concat(part.rows);
      if (part.rows.length < MOST_ROWS) return { ...part, rows };
    }
  },
  advice: (lang: string, signal?: AbortSignal) => json<AdviceMessage[]>("/api/advice", { lang }, signal),
  findings: (lang: string, signal?: AbortSignal) => json<FindingMessage[]>("/api/findings", { lang }, signal),
  /** A mode of `sonde cluster` over all traces that are ready. */
  cluster: (mode: string, lang: string, signal?: AbortSignal) =>
    json<ClusterMessage>("/api/cluster", { mode, lang }, signal),
  /** How a step of a trace differs from one of another. */
  /** Of one trace, or with -1 of all ranks; `base` is what one is compared with, -1 nothing. */
  advisor: (trace: number, base: number, lang: string, signal?: AbortSignal) =>
    json<AdvisorMessage>("/api/advisor", { trace, base, lang }, signal),
  compare: (base: number, comparison: number, lang: string, signal?: AbortSignal) =>
    json<ComparisonMessage>("/api/compare", { base, comparison, lang }, signal),
  recipes: () => json<Omit<ResultMessage, "rows">[]>("/api/recipes", {}),
  schema: () => json<SchemaTableMessage[]>("/api/schema", {}),
  /** The signal ends the statement in the server, whose answer reports it. */
  async sql(statement: string, trace = -1, limit = 1000, signal?: AbortSignal): Promise<TableMessage> {
    const id = `${page}${++statements}`;
    // That it has ended meanwhile is no failure.
    const cancel = () => void request("/api/cancel", { id }, { method: "POST" }).catch(() => undefined);
    signal?.addEventListener("abort", cancel);
    try {
      const answer = await request("/api/sql", { trace, limit, id }, post(statement));
      return (await answer.json()) as TableMessage;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  },
  async exportTable(statement: string, trace: number, format: string): Promise<Blob> {
    return (await request("/api/export", { trace, format }, post(statement))).blob();
  },
};
