import { describe, expect, it } from "vitest";

import { condition, equals, keeps, parseFilter } from "./filter";

const columns = [
  { name: "name", type: "text" },
  { name: "dur", type: "integer" },
  { name: "size_bytes", type: "integer" },
  { name: "ts", type: "integer" },
  { name: "is_whole", type: "boolean" },
  { name: "percent", type: "real" },
];
const ZERO = 1_700_000_000_000_000_000n;
const rows = [
  ["aten::mm", 1_500_000, 4096, "1700000000005000000", true, 60],
  ["aten::add", 900, null, "1700000000001000000", false, 4.5],
  ['a "b', -1, 10_485_760, null, null, null],
];
const parse = (text: string) => parseFilter(columns, text, ZERO);
const left = (text: string) => rows.filter((row) => keeps(parse(text), row)).map((row) => row[0]);

describe("a filter", () => {
  it.each([
    ["", ["aten::mm", "aten::add", 'a "b']],
    ["ATEN mm", ["aten::mm"]],
    ['"a b"', ['a "b']],
    ["dur>1ms", ["aten::mm"]],
    ["dur > 1 ms", ["aten::mm"]],
    ["dur>=1.5ms", ["aten::mm"]],
    ["dur<1us dur>0", ["aten::add"]],
    ["dur=900", ["aten::add"]],
    ["size>=4KiB", ["aten::mm", 'a "b']],
    ["size_bytes>10MB", ['a "b']],
    ["size!=4096", ['a "b']],
    ["ts>2ms", ["aten::mm"]],
    ["ts<1700000000002000000", ["aten::add"]],
    ['name="a b"', ['a "b']],
    [equals("name", "aten::mm"), ["aten::mm"]],
    ["name!=aten::mm", ["aten::add", 'a "b']],
    ["is_whole=true", ["aten::mm"]],
    [equals("ts", ""), ['a "b']],
    ['size!=""', ["aten::mm", 'a "b']],
    ["percent>50%", ["aten::mm"]],
  ])("keeps of %s the rows %j", (text, expected) => {
    expect(parse(text).problems).toEqual([]);
    expect(left(text)).toEqual(expected);
  });

  it.each([
    ["other>5", "filter.nocolumn"],
    ["dur>1parsec", "filter.nounit"],
    ["dur>1KiB", "filter.nounit"],
    ["dur>", "filter.nounit"],
    ["size>1ms", "filter.nounit"],
    ["is_whole=maybe", "filter.novalue"],
    ["name>5", "filter.notext"],
    ["is_whole>true", "filter.notext"],
  ])("names what it does not understand of %s: %s", (text, problem) => {
    expect(parse(text).problems.map(([key]) => key)).toEqual([problem]);
    expect(parse(text).tests).toEqual([]);
  });

  it("is the same as a condition of SQL", () => {
    expect(condition(columns, parse(""))).toBe("");
    expect(condition(columns, parse("dur>=5us name=it's"))).toBe(`"dur" >= 5000 AND CAST("name" AS VARCHAR) = 'it''s'`);
    expect(condition(columns, parse("ts>1ms is_whole!=true"))).toBe(
      `"ts" > 1700000000001000000 AND "is_whole" <> true`,
    );
    expect(condition(columns, parse('ts=""'))).toBe(`coalesce(replace(CAST("ts" AS VARCHAR), '"', ''), '') = ''`);
    expect(condition(columns, parse("MM"))).toContain(`contains(lower(CAST("name" AS VARCHAR)), 'mm')`);
  });
});
