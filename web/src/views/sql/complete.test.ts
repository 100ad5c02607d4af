import { expect, it } from "vitest";

import { complete } from "./complete";

const schema = [
  {
    name: "slice",
    meaning: "",
    columns: [
      { name: "slice_id", type: "" },
      { name: "dur", type: "" },
    ],
  },
  { name: "track", meaning: "", columns: [{ name: "track_id", type: "" }] },
];

it("offers tables after FROM, else columns of the tables in use", () => {
  expect(complete("SELECT * FROM sl", 16, schema)).toEqual(["slice"]);
  expect(complete("SELECT du FROM slice", 9, schema)).toEqual(["dur"]);
  expect(complete("SELECT tr FROM slice", 9, schema)).toEqual(["track"]);
  // The shortest first: what is typed most.
  expect(complete("SELECT sli", 10, schema)).toEqual(["slice", "slice_id"]);
  expect(complete("S", 1, schema)).toEqual([]);
  expect(complete("SEL", 3, schema)).toEqual(["SELECT"]);
});
