import { expect, it } from "vitest";

import { groupsOf, kindsOf, meansOf, ranksOf, spreadOf, stagesOf } from "./layout";

const tableOf = (columns: string[], rows: (string | number)[][]) => ({
  name: "",
  meaning: "",
  complete: true,
  columns: columns.map((name) => ({ name, type: "text", unit: "", role: "", better: "", space: "", meaning: "" })),
  rows,
});

const groups = groupsOf(
  tableOf(
    ["type", "rank_set", "group_hash", "group_id", "pg_name"],
    [
      ["collective", "(0,1,2,3)", "9", "all", "default_group"],
      ["collective", "(0,1)", "7", "", "tp"],
      ["collective", "(2,3)", "8", "b", "tp"],
      ["p2p", "(0,2)", "5", "c", "pp"],
      ["p2p", "(1,3)", "6", "d", "pp"],
    ],
  ),
);

it("reads groups; one without a name has its hash", () => {
  expect(groups[1]).toEqual({ kind: "tp", name: "7", ranks: [0, 1] });
  expect(ranksOf("(4,)")).toEqual([4]);
  expect(kindsOf(groups)).toEqual(["pp", "tp", "default_group"]);
});

it("puts stages of the pipeline below each other", () => {
  expect(stagesOf(groups, [0, 1, 2, 3])).toEqual([
    [0, 1],
    [2, 3],
  ]);
  expect(stagesOf([], [3, 1])).toEqual([[1, 3]]);
});

it("computes how far ranks of a group lie apart, by their means over the steps", () => {
  const means = meansOf(
    tableOf(
      ["rank", "step_id", "computing_ns"],
      [
        [0, 1, 10],
        [0, 2, 20],
        [1, 1, 40],
      ],
    ),
    "computing_ns",
  );
  expect(spreadOf([0, 1, 2], means)).toEqual({ least: 15, most: 40, leastRank: 0, mostRank: 1 });
  expect(spreadOf([0, 2], means)).toBeNull();
});
