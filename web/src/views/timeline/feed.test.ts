import { expect, it } from "vitest";

import { pixelFor, wider } from "./feed";

it("asks for a grid of powers of two, not wider than a pixel", () => {
  expect(pixelFor({ begin: 0, end: 1000 }, 1000)).toBe(1);
  expect(pixelFor({ begin: 0, end: 10 }, 1000)).toBe(1);
  expect(pixelFor({ begin: 0, end: 5000 }, 1000)).toBe(4);
  expect(pixelFor({ begin: 0, end: 1_000_000 }, 1000)).toBe(512);
});

it("asks for half a screen more", () => {
  expect(wider({ begin: 100, end: 200 })).toEqual({ begin: 50, end: 250 });
});
