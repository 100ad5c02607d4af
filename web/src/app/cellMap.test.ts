import { expect, it } from "vitest";

import { layoutOf, stepOfLabels } from "./CellMap";

it("fits all cells where that leaves them large enough, and scrolls else", () => {
  expect(layoutOf(1000, 322, 10, 20, 60)).toEqual({ left: 60, cellWidth: 47, cellHeight: 26 });
  expect(layoutOf(1000, 322, 1000, 500, 60)).toEqual({ left: 60, cellWidth: 9, cellHeight: 5 });
  expect(layoutOf(1000, 322, 1, 1, 900)).toEqual({ left: 200, cellWidth: 150, cellHeight: 26 });
});

it("has labels that do not lie on each other", () => {
  expect(stepOfLabels(5, 14)).toBe(3);
  expect(stepOfLabels(26, 14)).toBe(1);
});
