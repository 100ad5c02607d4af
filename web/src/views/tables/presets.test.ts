import { expect, it } from "vitest";

import { forAllRanks, presets } from "./presets";

it("has tables of distinct names", () => {
  expect(new Set(presets.map((p) => p.name)).size).toBe(presets.length);
});

it("joins within a trace", () => {
  const operators = forAllRanks(presets.find((p) => p.name === "operators")!.sql);
  expect(operators).toContain("SELECT s.trace, s.rank, s.slice_id");
  expect(operators).toContain("USING (trace, slice_id)");
  expect(forAllRanks(presets.find((p) => p.name === "steps")!.sql)).toBe("SELECT * FROM step ORDER BY ts");
});
