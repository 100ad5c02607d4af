import { describe, expect, it } from "vitest";

import { themes } from "../../theme/themes";
import { counterAt, placeOf, rulerText } from "./draw";
import type { Row } from "./lanes";
import { barColor, counterRange } from "./paint";

describe("drawing", () => {
  it("writes the ruler in the unit of its step", () => {
    expect(rulerText(1_500_000, 500_000)).toBe("1.5 ms");
    expect(rulerText(2_000_000_000, 1_000_000_000)).toBe("2 s");
    expect(rulerText(1_234_500, 100)).toBe("1234.5 µs");
    expect(rulerText(7, 1)).toBe("7 ns");
  });
  it("has fixed colours for kinds of time, and one a name else", () => {
    const theme = themes.light;
    expect(barColor(theme, "overlap", "Free")).toBe(theme.free);
    expect(barColor(theme, "host", "Free")).not.toBe(theme.free);
    expect(barColor(theme, "host", "aten::mm")).toBe(barColor(theme, "device", "aten::mm"));
    expect(barColor(theme, "host", undefined)).toBe(theme.pending);
  });
  it("knows the range of a counter", () => {
    const points = new Float64Array([0, 5, 9, 7, 100, -1, 2, 2]);
    expect(counterRange({ window: { begin: 0, end: 200 }, pixel: 1, points }, { begin: 0, end: 50 })).toEqual([0, 9]);
    expect(counterRange({ window: { begin: 0, end: 200 }, pixel: 1, points }, { begin: 0, end: 150 })).toEqual([-1, 9]);
  });
  it("knows the value of a counter at a moment", () => {
    const points = new Float64Array([10, 5, 9, 7, 100, -1, 2, 2]);
    expect([5, 10, 99, 100].map((ts) => counterAt(points, ts))).toEqual([null, 7, 7, 2]);
  });
  it("finds the place of a slice", () => {
    const row: Row = {
      key: "0:1",
      kind: "track",
      label: "",
      indent: 0,
      y: 100,
      height: 41,
      folded: false,
      pinned: false,
      trace: 0,
      track: 1,
      depths: 2,
      bar: 18,
      note: "",
      family: "host",
      marks: -1,
      preview: -1,
    };
    const slice = { trace: 0, id: 1, track: 1, name: "", ts: 0, dur: 1, depth: 1 };
    expect(placeOf([row], 0, slice)).toBe(26 + 100 + 2 + 18 + 9);
    expect(placeOf([row], 0, { ...slice, track: 2 })).toBeNull();
  });
});
