import { expect, it } from "vitest";

import { parseOffset } from "./OffsetInput";
import { splitPath } from "./OpenPath";

it("reads offsets with and without a unit", () => {
  expect(["12", "1.5 ms", "-20us", "+3 µs", "2s", "x", "1 h", "", "2592000 s", "2592001 s"].map(parseOffset)).toEqual([
    12,
    1_500_000,
    -20_000,
    3000,
    2_000_000_000,
    null,
    null,
    null,
    2_592_000_000_000_000,
    null,
  ]);
});

it("splits a path that is being typed", () => {
  expect([splitPath("/a/b"), splitPath("/a"), splitPath("a"), splitPath("/a/")]).toEqual([
    ["/a", "b"],
    ["/", "a"],
    ["", "a"],
    ["/a", ""],
  ]);
});
