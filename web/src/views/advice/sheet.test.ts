import { expect, it } from "vitest";

import type { RuleSheetMessage } from "../../api/messages";
import { columnsOf } from "./sheet";

const sheet: RuleSheetMessage = {
  name: "Waits",
  columns: ["name", "duration(us)", "share(%)", "bandwidth(GB/s)", "Total duration(ms)", "note (us)"],
  total: 2,
  rows: [
    ["mm", 1500, 12.5, 3.25, 2, "none"],
    ["add", null, 7, 4, 1, "few"],
  ],
  slices: [],
};

it("writes times and shares with their units, and leaves texts as they are", () => {
  const columns = columnsOf(sheet, "en");
  expect(columns.map(({ label }) => label)).toEqual([
    "name",
    "duration",
    "share",
    "bandwidth (GB/s)",
    "Total duration",
    "note (us)",
  ]);
  const [first, second] = sheet.rows.map((row) => columns.map(({ text }, i) => text(row[i]!)));
  expect(first).toEqual(["mm", "1.500 ms", "12.50 %", "3.25", "2.000 ms", "none"]);
  expect(second![1]).toBe("");
  expect(columns.map(({ isNumber }) => isNumber)).toEqual([false, true, true, true, true, false]);
});

it("names columns in Chinese where it knows a word", () => {
  expect(columnsOf(sheet, "zh").map(({ label }) => label)).toEqual([
    "名称",
    "时长",
    "占比",
    "带宽 (GB/s)",
    "总时长",
    "note (us)",
  ]);
});
