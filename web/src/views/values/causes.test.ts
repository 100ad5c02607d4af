import { expect, it } from "vitest";

import { countOf, countsOf, distancesOf, pairsOf, rowStatement, rowsStatement, tableOf, toneOf } from "./causes";

it("colours a row by its cause: what is no known state is the finding", () => {
  expect(
    ["argument differs", "behind the first difference", "rounding only", "no difference", null].map(toneOf),
  ).toEqual(["first", "behind", "rounding", "equal", "open"]);
});

it("puts the finding before what follows from it", () => {
  const rows = [["no difference", 900], ["rounding only", 40], ["changed weight", 1], ["behind the first difference", 70]]; // prettier-ignore
  expect(countsOf(rows).map(({ cause }) => cause)).toEqual([
    "changed weight",
    "behind the first difference",
    "rounding only",
    "no difference",
  ]);
  expect([countOf(countsOf(rows), ""), countOf(countsOf(rows), "rounding only")]).toEqual([111, 40]);
});

it("knows a comparison of values by its tables", () => {
  expect(tableOf(["precision_finding", "precision_tensor"])).toBe("precision_tensor");
  expect(tableOf(["precision_node"])).toBeUndefined();
});

it("asks for the rows of one cause, or for all that differ", () => {
  expect(rowsStatement("precision_md5", "rounding only")).toContain("cause, 'not compared') = 'rounding only' AND NOT");
  expect(rowsStatement("precision_statistics", "")).toContain("cause IS DISTINCT FROM 'no difference' AND step =");
  expect(rowStatement("precision_md5", ["1", "0", "12"])).toContain('step = 1 AND rank = 0 AND "row" = 12');
});

it("shows both sides of a row, and of an argument its value", () => {
  const numbers = { npu_max: 2.5, bench_max: 2, max_diff: 0.5, max_relative_err: 25, npu_min: null, bench_min: null };
  expect(pairsOf({ npu_dtype: "torch.float32", bench_dtype: "N/A", ...numbers })).toEqual([
    { name: "type", target: "torch.float32", golden: "N/A" },
    { name: "max", target: 2.5, golden: 2, difference: 0.5, relative: 25 },
  ]);
  const argument = { npu_max: null, bench_max: null, npu_max_text: "tanh", bench_max_text: "none" };
  expect(pairsOf(argument)).toEqual([{ name: "value", target: "tanh", golden: "none" }]);
  const number = { npu_dtype: "<class 'int'>", bench_dtype: "<class 'int'>", npu_max: 3, bench_max: 2 };
  expect(pairsOf({ ...number, npu_max_text: "3", bench_max_text: "2" }).map(({ name }) => name)).toEqual([
    "type",
    "value",
  ]);
  expect(pairsOf({ npu_md5: "0a", bench_md5: "0b" })).toEqual([{ name: "md5", target: "0a", golden: "0b" }]);
});

it("has distances where tensors were compared", () => {
  expect(distancesOf({ npu_max: 1 })).toEqual([]);
  expect(distancesOf({ cosine: 0.5, euc_dist: 2 }).slice(0, 2)).toEqual([["cosine", 0.5], ["euc_dist", 2]]); // prettier-ignore
});
