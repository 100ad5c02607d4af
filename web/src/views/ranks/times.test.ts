import { expect, it } from "vitest";

import type { ClusterTableMessage } from "../../api/messages";
import { inBaseUnits } from "../../app/baseUnits";
import { aboveMedian, byMean, rangeOf, timesOf, valuesOf } from "./times";

const column = (name: string, unit = "") => ({
  name,
  type: unit ? "real" : "integer",
  unit,
  role: unit ? "measure" : "key",
  better: "",
  space: "",
  meaning: "",
});

const table: ClusterTableMessage = {
  name: "ClusterTimeSummary",
  meaning: "",
  complete: true,
  columns: [column("rank"), column("step_id"), column("computing_us", "us")],
  rows: [
    [10, 2, 3],
    [2, 1, 1],
    [10, 1, 1.5],
    [3, 1, 5],
    [3, 2, 4],
  ],
};

it("has a value for each rank and step, in their order, in nanoseconds", () => {
  const converted = inBaseUnits(table);
  expect(converted.columns[2]).toMatchObject({ name: "computing_ns", unit: "ns" });
  const times = timesOf(converted);
  expect(times.ranks).toEqual([2, 3, 10]);
  expect(times.steps).toEqual([1, 2]);
  const values = valuesOf(converted, times, "computing");
  expect(values).toEqual([
    [1000, Number.NaN],
    [5000, 4000],
    [1500, 3000],
  ]);
  expect(byMean(values)).toEqual([1, 2, 0]);
  expect(aboveMedian(values)).toEqual([
    [-500, Number.NaN],
    [3500, 1000],
    [0, 0],
  ]);
});

it("shows no noise as if it were a difference", () => {
  expect(rangeOf([[1000, 1005]])).toEqual([0, 1005]);
  expect(rangeOf([[1000, 1500, Number.NaN]])).toEqual([1000, 1500]);
  expect(rangeOf([[-3, 4]])).toEqual([-3, 4]);
  expect(rangeOf([])).toEqual([0, 1]);
});

it("leaves keys and unknown units as they are", () => {
  const other = { ...table, columns: [column("rank"), column("step_id"), column("bandwidth", "GB/s")] };
  expect(inBaseUnits(other)).toBe(other);
  const sizes = { ...table, columns: [column("rank"), column("step_id"), column("size_mb", "MB")] };
  expect(inBaseUnits(sizes).columns[2]).toMatchObject({ name: "size_bytes", unit: "bytes" });
  expect(inBaseUnits(sizes).rows[0]).toEqual([10, 2, 3e6]);
});
