import { expect, it } from "vitest";

import { groupLabels, sumBy } from "./groups";

const columns = ["step_id", "kind", "group_name", "elapse_ns", "transit_ns", "wait_ns", "idle_ns", "size_bytes"].map(
  (name) => ({ name, type: "integer" }),
);
const table = (rows: (string | number)[][]) => ({ columns, rows, complete: true, elapsed: 0 });

it("sums by group, kind and rank", () => {
  const tables = [
    {
      label: "Rank 0",
      table: table([[1, "allReduce", "dp", 10, 4, 5, 1, 100]]),
    },
    { label: "Rank 1", table: table([[1, "send", "pp", 30, 4, 25, 2, 7]]) },
  ];
  expect(sumBy(tables, "group").map(([key, times]) => [key, times.all, times.wait])).toEqual([
    ["pp", 30, 25],
    ["dp", 10, 5],
  ]);
  expect(sumBy(tables, "op").map(([key, times]) => [key, times.count])).toEqual([
    ["send", 1],
    ["allReduce", 1],
  ]);
  expect(sumBy(tables, "rank").map(([key, times]) => [key, times.transit, times.idle, times.bytes])).toEqual([
    ["Rank 0", 4, 1, 100],
    ["Rank 1", 4, 2, 7],
  ]);
});

it("calls groups by their purpose and ranks", () => {
  const columns = ["name", "description", "rank_list"].map((name) => ({ name, type: "text" }));
  const rows = [
    ["10.0.0.1%eth0", "tp", "[0, 1]"],
    ["g2", "", "[4,5]"],
    ["g3", "pp", "none"],
    ["g4", "dp", JSON.stringify([...Array(20).keys()])],
  ];
  expect([...groupLabels({ columns, rows, complete: true, elapsed: 0 })]).toEqual([
    ["10.0.0.1%eth0", "tp: 0 1"],
    ["g2", "g2: 4 5"],
    ["g3", "pp"],
    ["g4", "dp: 0 … 19 (20)"],
  ]);
});
