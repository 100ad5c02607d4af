import { describe, expect, it } from "vitest";

import { groupRows, orderOfGroups, sortRows } from "./rows";

const rows = [
  ["b", 2, 10],
  ["a", 10, 20],
  ["c", null, 30],
  ["a", 1, 40],
] as const;

describe("rows", () => {
  it("are sorted, numbers as numbers, stable", () => {
    expect(sortRows(rows, 1, false).map((r) => r[1])).toEqual([null, 1, 2, 10]);
    expect(sortRows(rows, 0, false).map((r) => r[2])).toEqual([20, 40, 10, 30]);
    expect(sortRows(rows, 1, true)[0]![1]).toBe(10);
  });
  it("are grouped with counts and sums", () => {
    const isSum = [false, true, true];
    expect(groupRows(rows, 0, isSum, orderOfGroups(isSum, [false, false, true]))).toEqual([
      ["a", 2, 11, 60],
      ["c", 1, 0, 30],
      ["b", 1, 2, 10],
    ]);
    expect(orderOfGroups(isSum, [false, false, false])).toBe(1);
  });
});
