import { expect, it } from "vitest";

import { contrast } from "../../base/color";
import { themes } from "../../theme/themes";
import { heatColors, scaleOf, shortText } from "./HeatMap";
import { matrixOf } from "./matrix";

it("sums the totals of all kinds by link", () => {
  const columns = ["name", "src_rank", "dst_rank", "size_bytes", "time_ns"].map((name) => ({ name, type: "integer" }));
  const rows = [
    ["allreduce-total", 0, 1, 100, 10],
    ["allreduce-top1", 0, 1, 90, 9],
    ["send-total", 0, 1, 50, 5],
    ["send-total", 1, 0, 20, 5],
  ];
  const matrix = matrixOf([{ columns, rows, complete: true, elapsed: 0 }]);
  expect(matrix.ranks).toEqual([0, 1]);
  expect(matrix.links.get("0:1")).toEqual({ bytes: 150, time: 15 });
  expect(matrix.most).toBe(150);
});

it("adds the links that each rank saw", () => {
  const columns = ["name", "src_rank", "dst_rank", "size_bytes", "time_ns"].map((name) => ({ name, type: "integer" }));
  const table = (rows: (string | number)[][]) => ({ columns, rows, complete: true, elapsed: 0 });
  const matrix = matrixOf([table([["a-total", 0, 1, 100, 10]]), table([["a-total", 1, 0, 70, 10]])]);
  expect([...matrix.links.keys()]).toEqual(["0:1", "1:0"]);
});

it("writes readable numbers in every cell, in one unit", () => {
  for (const theme of Object.values(themes)) {
    for (let share = 0; share <= 1; share += 0.05) {
      const { background, color } = heatColors(theme, share);
      expect(contrast(color, background), `${share}`).toBeGreaterThanOrEqual(4.5);
    }
  }
  const [unit, size] = scaleOf(61_216_522, "bytes");
  expect(unit).toBe("MiB");
  expect(shortText(61_216_522 / size)).toBe("58.4");
  expect(shortText(1024 / size)).toBe("0.00");
  expect(scaleOf(0.5, "bandwidth")).toEqual(["GB/s", 1]);
});
