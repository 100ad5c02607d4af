import { expect, it } from "vitest";

import { layoutOf } from "./layout";

const table = (rows: string[][]) => ({
  columns: ["name", "description", "rank_list"].map((name) => ({ name, type: "text" })),
  rows,
  complete: true,
  elapsed: 0,
});

it("has each group once, whichever ranks have it", () => {
  expect(
    layoutOf(
      table([
        ["a", "tp", "[0, 1]"],
        ["b", "dp", "[0, 2]"],
        ["c", "dp", "no list"],
        ["a", "tp", "[1, 0]"],
        ["d", "dp", "[1, 3]"],
      ]),
    ),
  ).toEqual([
    {
      name: "dp",
      groups: [
        [0, 2],
        [1, 3],
      ],
    },
    { name: "tp", groups: [[0, 1]] },
  ]);
});
