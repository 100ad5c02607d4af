import { expect, it } from "vitest";

import { roundStep, ticks } from "./ticks";

it("takes round steps", () => {
  expect(roundStep(3)).toBe(5);
  expect(roundStep(1)).toBe(1);
  expect(roundStep(6)).toBe(10);
  expect(roundStep(120)).toBe(200);
});

it("keeps lines apart", () => {
  const found = ticks(95, 1005, 900, 90);
  expect(found.step).toBe(100);
  expect(found.values[0]).toBe(100);
  expect(found.values.at(-1)).toBe(1000);
});
