import { expect, it } from "vitest";

import { countsOf, rowsStatement, toneOf } from "./causes";

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
});

it("asks for the rows of one cause, or for all that differ", () => {
  expect(rowsStatement("precision_md5", "rounding only")).toContain("= 'rounding only' ORDER BY");
  expect(rowsStatement("precision_statistics", "")).toContain("cause IS DISTINCT FROM 'no difference'");
});
