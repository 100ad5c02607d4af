import { expect, it } from "vitest";

import type { ClusterTableMessage } from "../../api/messages";
import { boxesOf, leaning, treeOf, visible } from "./tree";

const names = "node_id parent_id depth node name base_ns comparison_ns base_calls comparison_calls verdict".split(" ");
const table: ClusterTableMessage = {
  name: "compare_tree",
  meaning: "",
  complete: true,
  columns: names.map((name) => ({ name, type: "text", unit: "", role: "", better: "", space: "", meaning: "" })),
  rows: [
    [0, null, 0, "step", "step", 100, 120, 3, 3, "changed"],
    [1, 0, 1, "module", "Net", 80, 100, 2, 2, "changed"],
    [2, 1, 2, "operator", "mm", 60, 60, 1, 1, "unchanged"],
    [3, 1, 2, "operator", "gelu", 0, 40, 0, 1, "appeared"],
    [4, 0, 1, "host", "between operators", 20, 20, 1, 1, "unchanged"],
  ],
};
const root = treeOf(table)!;

it("nests the rows of the table, with names that stay", () => {
  expect(root.children.map(({ name }) => name)).toEqual(["Net", "between operators"]);
  expect(root.children[0]!.children[1]).toMatchObject({ key: "/step:step/module:Net/operator:gelu", comparison: 40 });
  expect(treeOf({ ...table, rows: [] })).toBeNull();
});

it("shows what is open", () => {
  expect(visible(root, ({ depth }) => depth < 1).map(({ name }) => name)).toEqual(["step", "Net", "between operators"]);
});

it("draws each as wide as on the side where it takes longer, inside of its parent", () => {
  const boxes = boxesOf(root, 0);
  const of = (name: string) => boxes.find(({ node }) => node.name === name)!;
  expect([of("Net").left, of("Net").width]).toEqual([0, 100 / 120]);
  // Together the operators are 100, which is what the module takes.
  expect(of("gelu").width).toBeCloseTo((100 / 120) * 0.4);
  expect(of("gelu").left).toBeCloseTo((100 / 120) * 0.6);
  expect(boxesOf(root, 0.3).map(({ node }) => node.name)).toEqual(["step", "Net", "mm", "gelu"]);
});

it("leans to the side that takes longer", () => {
  expect(root.children[0]!.children.map(leaning)).toEqual([0, 1]);
  expect(leaning({ ...root, base: 200, comparison: 50 })).toBe(-0.75);
  expect(leaning({ ...root, base: 0, comparison: 0 })).toBe(0);
});
