import { describe, expect, it } from "vitest";

import type { LaneWindow } from "../../api/decode";
import { counterColumns, drawnLength, firstSeen } from "./paint";

describe("painting", () => {
  it("begins with the slice that reaches into the window", () => {
    const lane = { begin: new Float64Array([0, 10, 20, 30]) } as LaneWindow;
    expect([-5, 0, 15, 20, 99].map((begin) => firstSeen(lane, begin))).toEqual([0, 0, 1, 1, 3]);
  });
  it("leaves no gap where slices are too many to be distinguished", () => {
    const lane = {
      begin: new Float64Array([0, 25, 60, 100]),
      dur: new Float64Array([2, 3, 4, -1]),
      count: new Uint32Array([9, 9, 1, 9]),
    } as LaneWindow;
    expect([0, 1, 2, 3].map((i) => drawnLength(lane, i, 10))).toEqual([25, 10, 4, -1]);
  });
  it("gives each column of a counter its range, and goes on with the last value", () => {
    // ts, lowest, highest, last
    const points = new Float64Array([2, 1, 9, 4, 3, 0, 5, 5, 6, 7, 7, 7]);
    const { low, high } = counterColumns(points, { begin: 0, end: 8 }, 8);
    expect([...low]).toEqual([NaN, NaN, 1, 0, 5, 5, 7, 7]);
    expect([...high]).toEqual([NaN, NaN, 9, 5, 5, 5, 7, 7]);
  });
  it("joins points of one column", () => {
    const points = new Float64Array([-4, 3, 3, 3, 1, 1, 2, 2, 3, 6, 8, 8]);
    const { low, high } = counterColumns(points, { begin: 0, end: 8 }, 2);
    expect([...low]).toEqual([1, 8]);
    expect([...high]).toEqual([8, 8]);
  });
});
