import { expect, it } from "vitest";

import { COMPUTED, computedName, intervalsOf, laneOf } from "./overlap";

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
