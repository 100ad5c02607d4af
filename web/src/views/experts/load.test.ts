import { expect, it } from "vitest";

import { loadOf } from "./load";

it("gathers the ranks of each group, the most uneven group first", () => {
  const names = ["rank", "ep_ranks", "tokens"];
  const columns = names.map((name) => ({ name, type: "", unit: "", role: "", better: "", space: "", meaning: "" }));
  const rows = [
    [0, "0,1", 10],
    [1, "0,1", 12],
    [3, "2,3", 40],
    [2, "2,3", 20],
  ];
  expect(loadOf({ name: "", meaning: "", complete: true, columns, rows })).toEqual([
    { ranks: "2,3", members: [{ rank: 2, tokens: 20 }, { rank: 3, tokens: 40 }], mean: 30 }, // prettier-ignore
    { ranks: "0,1", members: [{ rank: 0, tokens: 10 }, { rank: 1, tokens: 12 }], mean: 11 }, // prettier-ignore
  ]);
});
