import { describe, expect, it } from "vitest";

import { ZOOM_STEP, clampWindow, focusOn, pan, spanOf, timeToX, xToTime, zoom } from "./viewport";

const data = { begin: 0, end: 1_000_000 };

describe("viewport", () => {
  it("zooms around a moment", () => {
    const window = { begin: 200_000, end: 400_000 };
    const closer = zoom(window, 1 / ZOOM_STEP, 300_000, data);
    expect(spanOf(closer)).toBeCloseTo(200_000 / ZOOM_STEP, 3);
    expect(timeToX(closer, 1000, 300_000)).toBeCloseTo(timeToX(window, 1000, 300_000), 6);
  });
  it("does not zoom beyond the data or below some nanoseconds", () => {
    expect(spanOf(zoom(data, 100, 0, data))).toBe(1_200_000);
    expect(spanOf(zoom({ begin: 5, end: 16 }, 0.001, 10, data))).toBe(10);
  });
  it("pans to the margin and no further", () => {
    const far = pan({ begin: 0, end: 100_000 }, -1e9, data);
    expect(far.begin).toBe(-100_000);
    expect(spanOf(far)).toBe(100_000);
    expect(pan({ begin: 0, end: 100_000 }, 1e9, data).end).toBe(1_100_000);
  });
  it("centres what is too long", () => {
    expect(clampWindow({ begin: -9e9, end: 9e9 }, data)).toEqual({ begin: -100_000, end: 1_100_000 });
  });
  it("brings a slice into view, and leaves alone what is seen", () => {
    const window = { begin: 0, end: 10_000 };
    expect(focusOn(window, 100, 500, data)).toBe(window);
    const moved = focusOn(window, 500_000, 1000, data);
    expect(moved.begin).toBeLessThan(500_000);
    expect(moved.end).toBeGreaterThan(501_000);
    expect(spanOf(focusOn(window, 500_000, 1000, data, true))).toBe(1250);
  });
  it("keeps the scale for what has no length", () => {
    const window = { begin: 0, end: 10_000 };
    expect(focusOn(window, 5000, 0, data)).toBe(window);
    expect(focusOn(window, 500_000, 0, data)).toEqual({ begin: 495_000, end: 505_000 });
    expect(focusOn(window, 500_000, -1, data, true)).toEqual({ begin: 499_375, end: 500_625 });
  });
  it("maps pixels and moments to each other", () => {
    const window = { begin: 100, end: 300 };
    expect(xToTime(window, 1000, timeToX(window, 1000, 150))).toBeCloseTo(150);
  });
});
