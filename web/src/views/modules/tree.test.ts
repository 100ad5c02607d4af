import { expect, it } from "vitest";

import type { ClusterTableMessage } from "../../api/messages";
import { occurrence, treeOf, visible } from "./tree";

const names = ["parent", "module", "op", "kernels", "total_ns", "mean_ns", "count", "rank"];
const table: ClusterTableMessage = {
  name: "ModuleStatistic",
  meaning: "",
  complete: true,
  columns: names.map((name) => ({ name, type: "text", unit: "", role: "", better: "", space: "", meaning: "" })),
  rows: [
    ["Net/Block", "Linear", "aten::mm", "mm, add", 60, 30, 2, 0],
    ["Net/Block", "Linear", "aten::mm", "mm, add", 90, 45, 2, 1],
    ["Net/Block", "Linear", "aten::mm", "other", 5, 5, 1, 0],
    ["Net", "Norm", "aten::norm", "norm", 10, 10, 1, 0],
    ["", "Loss", "aten::nll", "nll", 7, 7, 1, 0],
  ],
};

it("sums modules over what lies below, and names the rank that takes longest", () => {
  const [net, loss] = treeOf(table, null);
  expect([net!.name, net!.total, net!.rank, net!.calls]).toEqual(["Net", 165, 1, null]);
  expect([loss!.name, loss!.total, loss!.rank]).toEqual(["Loss", 7, null]);
  const [linear] = net!.children.find(({ name }) => name === "Block")!.children;
  // The same operator with other kernels is another row.
  expect(linear!.children.map(({ name, total, calls }) => [name, total, calls])).toEqual([
    ["aten::mm", 150, 4],
    ["aten::mm", 5, 1],
  ]);
  expect(linear!.children[0]!.children.map(({ name, kind }) => [name, kind])).toEqual([
    ["mm", "kernel"],
    ["add", "kernel"],
  ]);
  expect(treeOf(table, 1).map(({ name, total }) => [name, total])).toEqual([["Net", 90]]);
});

it("shows what is open, in the order that was asked for", () => {
  const nodes = treeOf(table, null);
  const lines = (by: "name" | "total", descending: boolean) =>
    visible(nodes, ({ name }) => name === "Net", by, descending).map(({ node, depth }) => `${depth}${node.name}`);
  expect(lines("total", true)).toEqual(["0Net", "1Block", "1Norm", "0Loss"]);
  expect(lines("name", false)).toEqual(["0Loss", "0Net", "1Block", "1Norm"]);
});

it("asks for a module by its class, whatever stands in its name", () => {
  const node = { ...treeOf(table, null)[0]!, name: "[Backward]Conv+'2d_0" };
  expect(occurrence(node)).toContain("value = 'Conv+''2d'");
  expect(occurrence(node)).toContain("'(^|: )Conv\\+''2d(_[0-9]+)?$'");
  expect(occurrence({ ...node, kind: "kernel", name: "it's" })).toContain("name = 'it''s'");
});
