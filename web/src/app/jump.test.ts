import { expect, it } from "vitest";

import type { SessionMessage, TraceMessage } from "../api/messages";
import { targetOf } from "./jump";

const trace = (id: number, rank: number) => ({ id, rank, state: "ready" }) as TraceMessage;
const session = { base: "1000", traces: [trace(0, 5), trace(1, 7)] } as SessionMessage;
const columns = (...names: string[]) => names.map((name) => ({ name, type: "integer" }));

it("leads by the number of the trace where ranks are there twice or missing", () => {
  const two = { base: "0", traces: [trace(0, 5), trace(1, 5), trace(2, -1)] } as SessionMessage;
  expect(targetOf(columns("trace", "rank", "slice_id"), [1, 5, 3], -1, two)).toEqual({ trace: 1, slice: 3 });
  expect(targetOf(columns("trace", "rank", "slice_id"), [2, null, 3], -1, two)).toEqual({ trace: 2, slice: 3 });
  expect(targetOf(columns("rank", "slice_id"), [5, 3], -1, two)).toBeNull();
});

it("leads by slice, by rank and slice, by time, or nowhere", () => {
  expect(targetOf(columns("slice_id", "x"), [3, 1], 1, session)).toEqual({ trace: 1, slice: 3 });
  expect(targetOf(columns("rank", "slice_id"), [7, 3], -1, session)).toEqual({ trace: 1, slice: 3 });
  expect(targetOf(columns("ts"), ["1795282285729663065"], 0, { ...session, base: "1795282285729663000" })).toEqual({
    trace: 0,
    ts: 65,
  });
  expect(targetOf(columns("mark_id", "slice_id"), [4, null], 0, session)).toEqual({ trace: 0, slice: -6 });
  expect(targetOf(columns("mark_id", "slice_id"), [4, 9], 0, session)).toEqual({ trace: 0, slice: 9 });
  expect(targetOf(columns("slice_id"), [3], -1, session)).toBeNull();
  expect(targetOf(columns("name"), ["a"], 0, session)).toBeNull();
  expect(targetOf(columns("ts"), [null], 0, session)).toBeNull();
});
