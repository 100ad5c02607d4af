import { expect, it } from "vitest";

import { byOffset, mergeAreas, shiftList, shiftWindow } from "./shift";

const ref = (trace: number, ts: number) => ({ trace, id: ts, track: 0, name: "a", ts, dur: 1, depth: 0 });

it("moves what comes by the offset of its trace, and keeps the order of time", () => {
  const list = shiftList({ total: 2, slices: [ref(0, 10), ref(1, 20)] }, { 0: 100 });
  expect(list.slices.map((slice) => [slice.trace, slice.ts])).toEqual([
    [1, 20],
    [0, 110],
  ]);
  const lane = {
    trace: 1,
    track: 0,
    depth: 0,
    begin: new Float64Array([5]),
    dur: new Float64Array([1]),
    id: new Int32Array([0]),
    name: new Int32Array([0]),
    count: new Uint32Array([1]),
  };
  expect([...shiftWindow(lane, { 1: -3 }).begin]).toEqual([2]);
  expect(shiftWindow(lane, { 0: 7 })).toBe(lane);
});

it("asks once for each offset, and sums the answers", () => {
  expect(byOffset([{ trace: 0 }, { trace: 1 }, { trace: 2 }], { 1: 5 })).toEqual([
    [0, [{ trace: 0 }, { trace: 2 }]],
    [5, [{ trace: 1 }]],
  ]);
  const row = (name: string, total: number) => ({ name, count: 1, total, self: total, min: total, max: total });
  expect(
    mergeAreas([
      { slices: 1, rows: [row("a", 3)] },
      { slices: 2, rows: [row("b", 4), row("a", 5)] },
    ]),
  ).toEqual({
    slices: 3,
    rows: [{ name: "a", count: 2, total: 8, self: 8, min: 3, max: 5 }, row("b", 4)],
  });
});
