import { expect, it } from "vitest";

import { partAt, partsOf, zoomed } from "./parts";

const names = ["rank", "name", "begin_ns", "end_ns", "type"];
const columns = names.map((name) => ({ name, type: "", unit: "", role: "", better: "", space: "", meaning: "" }));
const rows = [
  [1, "FP", "1736410576000000200", "1736410576000000300", 0],
  [0, "FP", "1736410576000000100", "1736410576000000200", 0],
  [0, "BP", "1736410576000000400", "1736410576000000500", 1],
  [0, "FP", "1736410576000000150", "1736410576000000300", 0],
  [1, "cooldown", "1736410576000000350", "1736410576000000400", 4],
];
const table = { name: "", meaning: "", complete: true, columns, rows };

it("numbers the parts of each rank, and sums the time without any", () => {
  const { ranks, begin, end } = partsOf(table, 1736410576000000000n, (rank) => (rank === 1 ? 10 : 0));
  expect([begin, end]).toEqual([100, 500]);
  expect(ranks.map(({ rank, parts }) => [rank, parts.map(({ name, begin: at }) => `${name} ${at}`).join()])).toEqual([
    [0, "F0 100,F1 150,B0 400"],
    [1, "F0 210,cooldown 360"],
  ]);
  expect(ranks.map(({ bubble }) => bubble)).toEqual([0.25, 0.625]);
  expect(partAt(ranks[0]!.parts, 180)!.name).toBe("F1");
  expect(partAt(ranks[0]!.parts, 350)).toBeNull();
});

it("zooms around a moment within what there is", () => {
  expect(zoomed([0, 1000], 500, 0.5, [0, 1000])).toEqual([250, 750]);
  expect(zoomed([0, 1000], 900, 2, [0, 1000])).toEqual([0, 1000]);
  expect(zoomed([800, 1000], 1000, 2, [0, 1000])).toEqual([600, 1000]);
});
