import { expect, it } from "vitest";

import { isComputed, isMark } from "../../api/marks";
import {
  COMPUTED,
  computedId,
  computedName,
  intervalsOf,
  laneOf,
  placeOfComputed,
  sliceOf,
  slicesIn,
  totalOf,
} from "./overlap";

const table = {
  columns: ["device_id", "type", "start_ns", "end_ns"].map((name) => ({ name, type: "integer" })),
  rows: [
    [0, "Free", 130, 150],
    [0, "Computing", "110", "130"],
    [0, "Computing", 100, 104],
  ],
  complete: true,
  elapsed: 0,
};

it("has intervals by kind, and draws the longest of a pixel", () => {
  const [computing, communication, , free] = intervalsOf(table, "100", 5);
  expect([...computing!.begin]).toEqual([5, 15]);
  expect([...computing!.dur]).toEqual([4, 20]);
  expect(communication!.begin.length).toBe(0);
  expect([...free!.begin]).toEqual([35]);
  const lane = laneOf(computing!, 2, 0, { begin: 0, end: 100 }, 64);
  expect([lane.track, [...lane.begin], [...lane.dur], [...lane.count]]).toEqual([COMPUTED, [15], [20], [2]]);
  expect(computedName(lane.name[0]!)).toBe("Computing");
  expect(computedName(7)).toBeUndefined();
  expect(laneOf(computing!, 2, 0, { begin: 50, end: 100 }, 1).begin.length).toBe(0);
});

it("has slices like others: a number, a place, totals of what lies in a window", () => {
  const intervals = intervalsOf(table, "100", 0);
  const id = computedId(0, 1);
  expect([isComputed(id), isMark(id), placeOfComputed(id)]).toEqual([true, false, [0, 1]]);
  expect(sliceOf(intervals, 3, id)).toEqual({
    trace: 3,
    id,
    track: COMPUTED,
    name: "Computing",
    ts: 10,
    dur: 20,
    depth: 0,
  });
  expect(sliceOf(intervals, 3, computedId(1, 0))).toBeNull();
  const window = { begin: 2, end: 15 };
  const inside = slicesIn(intervals, 3, 0, window);
  expect(inside.map((slice) => slice.ts)).toEqual([0, 10]);
  expect(totalOf(inside, window)).toEqual({
    slices: 2,
    rows: [{ name: "Computing", count: 2, total: 7, self: 7, min: 2, max: 5 }],
  });
  expect(laneOf(intervals[0]!, 3, 0, { begin: 0, end: 100 }, 1).id[1]).toBe(id);
});
