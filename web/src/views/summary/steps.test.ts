import { expect, it } from "vitest";

import { computes, hasCopies, longest, rankTotals, stepsOf, wholeOf, writtenStepsOf } from "./steps";

const columns = ["step_id", "computing_ns", "overlapped_ns", "not_overlapped_ns", "free_ns"].map((name) => ({
  name,
  type: "integer",
}));
const table = (rows: (number | null)[][]) => ({ columns, rows, complete: true, elapsed: 0 });

it("reads the breakdown of a rank", () => {
  expect(
    stepsOf(
      "Rank 0",
      0,
      table([
        [5, 10, 1, 2, 3],
        [null, 1, 0, 0, 0],
      ]),
    ).map((s) => [s.step, s.computing]),
  ).toEqual([
    ["5", 10],
    ["–", 1],
  ]);
});

it("has copies as a part of their own, with what is idle beside them", () => {
  const both = [...columns, ...["copying_ns", "idle_ns"].map((name) => ({ name, type: "integer" }))];
  const steps = stepsOf("Rank 0", 0, {
    ...table([]),
    columns: both,
    rows: [
      [1, 400, 0, 0, 0, 600, 140],
      [2, 400, 0, 0, 30, 0, 30],
    ],
  });
  expect(hasCopies(steps)).toBe(true);
  expect(steps.map(wholeOf)).toEqual([1140, 430]);
  expect(rankTotals(steps)[0]).toMatchObject({ average: 785, copying: 600, idle: 170, free: 30 });
  expect(hasCopies(stepsOf("Rank 0", 0, table([[1, 100, 0, 60, 10]])))).toBe(false);
});

it("names the rank that others wait for", () => {
  const steps = [
    ...stepsOf("Rank 0", 0, table([[1, 100, 0, 60, 10]])),
    ...stepsOf("Rank 1", 1, table([[1, 160, 0, 0, 10]])),
    ...stepsOf("Rank 2", 2, table([[1, 102, 0, 58, 10]])),
  ];
  const totals = rankTotals(steps);
  expect(totals.map((total) => total.average)).toEqual([170, 170, 170]);
  expect(totals.find(({ rank }) => rank === "Rank 1")!.slower).toBeCloseTo(160 / 102 - 1);
  // Nothing was recorded of its computing: that proves nothing.
  const idle = stepsOf("Rank 3", 3, table([[1, 0, 0, 10, 500]]));
  expect(rankTotals([...steps, ...idle])[3]!.slower).toBe(0);
});

it("takes devices of a rank as parallel", () => {
  const both = { ...table([]), columns: [...columns, { name: "device_id", type: "integer" }] };
  const two = stepsOf("Rank 0", 0, {
    ...both,
    rows: [
      [1, 100, 0, 60, 10, 0],
      [1, 20, 0, 0, 2, 2],
    ],
  });
  expect(two.map((step) => step.device)).toEqual(["0", "2"]);
  const one = stepsOf("Rank 1", 1, { ...both, rows: [[1, 120, 0, 40, 10, 1]] });
  expect(one[0]!.device).toBe("");
  const totals = rankTotals([...two, ...one]);
  expect(totals.map(({ steps, average, slower }) => [steps, average, slower])).toEqual([
    [1, 170, 0],
    [1, 170, 0],
  ]);
});

it("reads the breakdown that a profiler wrote, where no computing was kept", () => {
  expect([computes(table([[5, 0, 1, 2, 3]])), computes(table([[5, 7, 1, 2, 3]]))]).toEqual([false, true]);
  const names = ["Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Free"];
  const csv = {
    ...table([]),
    columns: names.map((name) => ({ name, type: "text" })),
    rows: [["1", "13", "230903.7200000004", "441708.37999999995", "0.0", "136819.560000002"]],
  };
  expect(writtenStepsOf("Rank 1", 1, csv)).toEqual([
    {
      rank: "Rank 1",
      trace: 1,
      device: "",
      step: "13",
      computing: 230_903_720,
      overlapped: 0,
      exposed: 441_708_380,
      free: 136_819_560,
      copying: 0,
      idle: 136_819_560,
    },
  ]);
});

it("keeps the longest of many steps, in their order", () => {
  const steps = stepsOf(
    "Rank 0",
    0,
    table([
      [1, 10, 0, 0, 0],
      [2, 30, 0, 0, 0],
      [3, 20, 0, 0, 0],
    ]),
  );
  expect(longest(steps, 2).map((step) => step.step)).toEqual(["2", "3"]);
  expect(longest(steps, 3)).toBe(steps);
});

it("distinguishes devices of one number in two processes", () => {
  const named = ["process_id", "device_id", "step_id", "computing_ns"].map((name) => ({ name, type: "integer" }));
  const rows = [
    [0, 0, 1, 10],
    [1, 0, 1, 20],
  ];
  const steps = stepsOf("Rank 0", 0, { columns: named, rows, complete: true, elapsed: 0 });
  expect(steps.map((step) => step.device)).toEqual(["0 (0)", "0 (1)"]);
});
