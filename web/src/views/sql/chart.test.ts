import { expect, it } from "vitest";

import { chartOf, partOf } from "./chart";

const table = (types: string[], rows: (string | number | null)[][]) => ({
  columns: types.map((type, i) => ({ name: `c${i}`, type })),
  rows,
  complete: true,
  elapsed: 0,
});

it("draws numbers over the first number, in its order", () => {
  const chart = chartOf(
    table(
      ["integer", "real", "text"],
      [
        [3, 0.5, "a"],
        [1, 0.25, "b"],
        [2, null, "c"],
      ],
    ),
    "line",
  );
  expect(chart).toEqual({
    x: "c0",
    series: [
      {
        name: "c1",
        points: [
          [1, 0.25],
          [3, 0.5],
        ],
      },
    ],
  });
});

it("draws a bar for each text", () => {
  const result = table(["text", "integer", "real"], [["mm", 4, 0.5]]);
  const values = ["c1", "c2"];
  expect(chartOf(result, "bars")).toEqual({ labels: [["mm", 4]], label: "c0", value: "c1", values });
  expect(chartOf(result, "bars", "c2")).toEqual({ labels: [["mm", 0.5]], label: "c0", value: "c2", values });
});

it("has nothing to draw without numbers, and one number over the rows", () => {
  expect(chartOf(table(["text"], [["x"]]), "line")).toBeNull();
  expect(chartOf(table(["integer"], [[7]]), "line")).toEqual({
    x: "",
    series: [{ name: "c0", points: [[0, 7]] }],
  });
});

it("shows how much of a long result is drawn", () => {
  const columns = [{ name: "n", type: "integer" }];
  const rows = Array.from({ length: 6000 }, (_, i) => [i]);
  const long = { columns, rows, complete: true, elapsed: 0 };
  expect(partOf(long, chartOf(long, "line")!)).toBe(5000);
  const short = { columns, rows: rows.slice(0, 10), complete: true, elapsed: 0 };
  expect(partOf(short, chartOf(short, "line")!)).toBe(0);
  expect(partOf({ ...short, complete: false }, chartOf(short, "line")!)).toBe(10);
});
