import { describe, expect, it } from "vitest";

import { filterRows, groupRows, orderOfGroups, sortRows } from "./rows";

const rows = [
  ["b", 2, 10],
  ["a", 10, 20],
  ["c", null, 30],
  ["a", 1, 40],
] as const;
const names = ["name", "n", "x"];

describe("rows", () => {
  it("are sorted, numbers as numbers, stable", () => {
    expect(sortRows(rows, 1, false).map((r) => r[1])).toEqual([null, 1, 2, 10]);
    expect(sortRows(rows, 0, false).map((r) => r[2])).toEqual([20, 40, 10, 30]);
    expect(sortRows(rows, 1, true)[0]![1]).toBe(10);
  });
  it("are filtered by words and by columns", () => {
    expect(filterRows(rows, names, "")).toHaveLength(4);
    expect(filterRows(rows, names, "A")).toHaveLength(2);
    expect(filterRows(rows, names, "n>1 a")).toEqual([rows[1]]);
    expect(filterRows(rows, names, "name=a")).toHaveLength(2);
    expect(filterRows(rows, names, "n!=2")).toHaveLength(2);
    expect(filterRows(rows, names, "other>5")).toHaveLength(0);
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
