import { expect, it } from "vitest";

import { decodeWindow } from "./decode";

it("reads lanes of odd and even length", () => {
  const buffer = new ArrayBuffer(8 + 16 + 28 + 4 + 16);
  const view = new DataView(buffer);
  view.setUint32(0, 0x31574453, true);
  view.setUint32(4, 2, true);
  view.setInt32(8, 1, true);
  view.setInt32(12, 2, true);
  view.setInt32(16, 3, true);
  view.setUint32(20, 1, true);
  view.setFloat64(24, 1000, true);
  view.setFloat64(32, 50, true);
  view.setInt32(40, 7, true);
  view.setInt32(44, 8, true);
  view.setUint32(48, 9, true);
  view.setInt32(56, 4, true);
  const lanes = decodeWindow(buffer);
  expect(lanes).toHaveLength(2);
  expect(lanes[0]).toMatchObject({ trace: 1, track: 2, depth: 3 });
  expect([lanes[0]!.begin[0], lanes[0]!.dur[0], lanes[0]!.id[0], lanes[0]!.name[0], lanes[0]!.count[0]]).toEqual([
    1000, 50, 7, 8, 9,
  ]);
  expect(lanes[1]!.begin).toHaveLength(0);
  expect(lanes[1]!.trace).toBe(4);
});

it("refuses what is no window", () => {
  expect(() => decodeWindow(new ArrayBuffer(4))).toThrow();
});
