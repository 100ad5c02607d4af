import { expect, it } from "vitest";

import { courseOf, momentsOf, overTime, queueOf } from "./measures";
import type { Request } from "./requests";

const request = (ts: number, tokens: number[], end: number): Request => ({
  id: ts,
  name: "a",
  engine: 0,
  slice: null,
  ts,
  end,
  ended: true,
  queued: null,
  scheduled: null,
  first: tokens[0] ?? null,
  last: tokens.at(-1) ?? null,
  ttft: tokens[0] === undefined ? null : tokens[0] - ts,
  tpot: null,
  prompt: 1,
  cached: 0,
  output: tokens.length,
  preemptions: 0,
  reason: "stop",
  clientId: "",
  traceparent: "",
  tokens,
});
const requests = [request(0, [10, 20, 90], 100), request(100, [150, 160], 200), request(120, [], 130)];

it("knows when each value was there", () => {
  expect(momentsOf(requests, "TTFT")).toEqual([
    [10, 10],
    [150, 50],
  ]);
  expect(momentsOf(requests, "ITL")).toEqual([
    [20, 10],
    [90, 70],
    [160, 10],
  ]);
  expect(momentsOf(requests, "TPOT")).toEqual([]);
  expect(momentsOf(requests, "E2E")).toHaveLength(3);
});

it("counts in windows of time, and leaves out what is unknown", () => {
  const { p99, tokens } = courseOf(requests, "TTFT", 4);
  expect(p99).toEqual([
    [25, 10],
    [175, 50],
  ]);
  expect(tokens.map(([, rate]) => (rate * 50) / 1e9)).toEqual([2, 1, 0, 2]);
  expect(overTime([[200, 3]], [0, 200], 2, (values) => values[0] ?? null)).toEqual([[150, 3]]);
  expect(courseOf([], "E2E", 4).p99).toEqual([]);
});

it("takes the queue from the engine's steps", () => {
  const columns = ["step_id", "waiting_requests", "ts"].map((name) => ({ name, type: "integer" as const }));
  const rows = [
    [1, 3, 500],
    [2, null, 700],
  ];
  expect(queueOf({ columns, rows, complete: true, elapsed: 0 })).toEqual([
    [500, 3],
    [700, 0],
  ]);
});
