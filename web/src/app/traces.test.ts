import { expect, it } from "vitest";

import type { SessionMessage, TraceMessage } from "../api/messages";
import { dataWindow } from "./actions";
import { farApart } from "./traces";

const trace = (begin: number, end: number, slices = 1) =>
  ({ state: "ready", begin, end, tracks: [{ slices }] }) as unknown as TraceMessage;

it("finds traces whose clocks have nothing to do with each other", () => {
  expect(farApart([trace(0, 100), trace(20, 130)])).toBe(0);
  expect(farApart([trace(0, 100), trace(4900, 5000)])).toBe(0);
  expect(farApart([trace(9000, 9100), trace(0, 100)])).toBe(9000);
  expect(farApart([trace(9000, 9100), trace(0, 100, 0)])).toBe(0);
  expect(farApart([])).toBe(0);
});

it("begins with the time of what is shown, without traces that have none", () => {
  const window = (...traces: TraceMessage[]) => dataWindow({ traces } as unknown as SessionMessage);
  expect(window(trace(100, 300), trace(200, 400), trace(0, 0))).toEqual({ begin: 100, end: 400 });
  expect(window(trace(50, 50))).toEqual({ begin: 0, end: 1000 });
});
