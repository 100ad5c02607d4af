import { expect, it } from "vitest";

import type { RankTileMessage } from "../../api/messages";
import { WHOLE_MAP, closer, columnNames, rowNames, textOf, windowOf } from "./tile";

const tile: RankTileMessage = {
  measures: ["step"],
  total_ranks: 10_000,
  total_steps: 3,
  row_size: 40,
  column_size: 1,
  first_ranks: [0, 40],
  last_ranks: [39, 79],
  first_steps: [-1, 5, 6],
  last_steps: [-1, 5, 6],
  ns: [],
  ranks: [],
  steps: [],
  low: 0,
  high: 1,
};

it("keeps its part in the address", () => {
  expect(windowOf(undefined)).toEqual(WHOLE_MAP);
  expect(windowOf("x")).toEqual(WHOLE_MAP);
  const part = { first: 40, ranks: 32, firstStep: 1, steps: 2 };
  expect(windowOf(textOf(part))).toEqual(part);
});

it("comes closer to a block until a cell is one step of one rank", () => {
  expect(closer(tile, WHOLE_MAP, 1, 0)).toEqual({ ...WHOLE_MAP, first: 40, ranks: 40 });
  const small = { ...tile, row_size: 2, column_size: 2, total_ranks: 20, total_steps: 300 };
  expect(closer(small, WHOLE_MAP, 9, 149)).toEqual({ first: 0, ranks: 20, firstStep: 268, steps: 32 });
  expect(closer({ ...tile, row_size: 1 }, WHOLE_MAP, 0, 0)).toBeNull();
});

it("names ranks, or places where the largest come first", () => {
  expect(rowNames(tile, WHOLE_MAP, false)).toEqual(["0–39", "40–79"]);
  expect(rowNames(tile, { ...WHOLE_MAP, first: 80 }, true)).toEqual(["# 81–120", "# 121–160"]);
  const single = { ...tile, row_size: 1, first_ranks: [7], last_ranks: [7] };
  expect(rowNames(single, WHOLE_MAP, true)).toEqual(["7"]);
  expect(columnNames(tile)).toEqual(["–", "5", "6"]);
});
