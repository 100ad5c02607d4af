/** Requests to the server that the page came from. */
import { type LaneWindow, decodeWindow } from "./decode";
import type {
  AreaMessage,
  FlameMessage,
  SchemaTableMessage,
  SessionMessage,
  SliceListMessage,
  SliceMessage,
  TableMessage,
} from "./messages";

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
    // Not an answer of ours: the status says what there is to say.
  }
  throw new ApiError(message);
}

async function json<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, parameters, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export function laneList(lanes: readonly LaneRef[]): string {
  return lanes.map((l) => `${l.trace}:${l.track}:${l.depths ?? 0}`).join(",");
}

const whole = (begin: number, end: number) => ({ begin: Math.floor(begin), end: Math.ceil(end) });

export const api = {
  session: () => json<SessionMessage>("/api/session", {}),
  async window(
    lanes: readonly LaneRef[],
    begin: number,
    end: number,
    pixel: number,
    signal?: AbortSignal,
  ): Promise<LaneWindow[]> {
    const answer = await request(
      "/api/window",
      { lanes: laneList(lanes), ...whole(begin, end), pixel },
      signal ? { signal } : {},
    );
    return decodeWindow(await answer.arrayBuffer());
  },
  async counter(trace: number, track: number, begin: number, end: number, pixel: number): Promise<Float64Array> {
    const answer = await request("/api/counter", { trace, track, ...whole(begin, end), pixel });
    return new Float64Array(await answer.arrayBuffer());
  },
  names: (trace: number, ids: readonly number[]) => json<string[]>("/api/names", { trace, ids: ids.join(",") }),
  slice: (trace: number, id: number) => json<SliceMessage>("/api/slice", { trace, id }),
  neighbour: (trace: number, id: number, step: 1 | -1, same: "name" | "lane") =>
    json<SliceListMessage>("/api/neighbour", { trace, id, step, same }),
  search: (q: string, options: { regex: boolean; case: boolean; whole: boolean; args: boolean; trace: number }) =>
    json<SliceListMessage>("/api/search", { q, ...options }),
  area: (lanes: readonly LaneRef[], begin: number, end: number) =>
    json<AreaMessage>("/api/area", { lanes: laneList(lanes), ...whole(begin, end) }),
  occurrences: (lanes: readonly LaneRef[], begin: number, end: number, name: string) =>
    json<SliceListMessage>("/api/occurrences", { lanes: laneList(lanes), ...whole(begin, end), name }),
  flame: (lanes: readonly LaneRef[], begin: number, end: number) =>
    json<FlameMessage>("/api/flame", { lanes: laneList(lanes), ...whole(begin, end) }),
  recipe: (trace: number, name: string) => json<TableMessage>("/api/recipe", { trace, name }),
  schema: () => json<SchemaTableMessage[]>("/api/schema", {}),
  async sql(statement: string, trace = -1, limit = 1000, id = ""): Promise<TableMessage> {
    const answer = await request("/api/sql", { trace, limit, id }, { method: "POST", body: statement });
    return (await answer.json()) as TableMessage;
  },
  cancel: (id: string) => request("/api/cancel", { id }, { method: "POST" }),
  csvAddress: (statement: string, trace = -1) => address("/api/csv", { sql: statement, trace }),
};
