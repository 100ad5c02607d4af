import { expect, it } from "vitest";

import { aligned, valueAt } from "./Chart";

const curve = (...points: [number, number][]) => ({ name: "a", color: "#000000", points });

it("keeps every point, of equal moments too", () => {
  expect(aligned([curve([1, 5], [3, 7], [3, 8]), curve([2, 1], [3, 2])])).toEqual([
    [1, 2, 3, 3],
    [5, null, 7, 8],
    [null, 1, 2, null],
  ]);
  expect(aligned([])).toEqual([[]]);
});

it("has the value of the last point before a moment", () => {
  const { points } = curve([1, 5], [3, 7]);
  expect([0, 1, 2, 3, 9].map((x) => valueAt(points, x))).toEqual([null, 5, 5, 7, 7]);
});
