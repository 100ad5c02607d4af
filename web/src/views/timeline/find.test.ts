import { expect, it } from "vitest";

import type { LaneWindow } from "../../api/decode";
import type { SessionMessage } from "../../api/messages";
import type { Feed } from "./feed";
import { type Shown, rowAt, sliceAt } from "./find";
import type { Row } from "./lanes";
import { GUTTER, RULER } from "./scene";

const lane: LaneWindow = {
  trace: 0,
  track: 7,
  depth: 1,
  begin: new Float64Array([0, 500, 900]),
  dur: new Float64Array([100, 10, -1]),
  id: new Int32Array([1, 2, 3]),
  name: new Int32Array([0, 0, 0]),
  count: new Uint32Array([1, 4, 1]),
};
const row = { kind: "track", trace: 0, track: 7, y: 100, height: 41, depths: 2, bar: 18 } as Row;
const feed = { track: () => ({ lanes: [lane] }), name: () => "mm" } as unknown as Feed;
const session = { traces: [{ end: 950 }] } as unknown as SessionMessage;
const shown: Shown = { rows: [row], top: 40, window: { begin: 0, end: 1000 }, width: GUTTER + 1000, feed, session };
const y = RULER + 60 + 2 + 18 + 9;

it("finds the lane and the slice under a point", () => {
  expect(rowAt(shown, RULER + 60)).toBe(row);
  expect(rowAt(shown, RULER + 59)).toBeUndefined();
  expect(sliceAt(shown, GUTTER + 50, y)).toEqual({ trace: 0, id: 1, name: "mm", dur: 100, count: 1 });
  expect(sliceAt(shown, GUTTER + 497, y)!.id).toBe(2);
  expect(sliceAt(shown, GUTTER + 300, y)).toBeNull();
  expect(sliceAt(shown, GUTTER + 949, y)!.id).toBe(3);
  // What had not ended is known to the end of its trace.
  expect(sliceAt(shown, GUTTER + 999, y)).toBeNull();
  expect(sliceAt(shown, GUTTER + 50, y - 18)).toBeNull();
  expect(sliceAt(shown, 50, y)).toBeNull();
});
