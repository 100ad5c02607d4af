// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import type { Cell, ClusterTableMessage } from "../../api/messages";
import { sessionOf, show, storeOf } from "../../app/testing";
import { Requests } from "./Requests";

// What it draws is seen in a browser only.
vi.mock("../../app/Chart", () => ({
  Chart: ({ curves, formatX }: { curves: { points: [number, number][] }[]; formatX: (x: number) => string }) => (
    <p data-testid="drawn">
      {curves.map(({ points }) => points.map(([x, y]) => `${formatX(x)} ${y}`).join(", ")).join(" / ")}
    </p>
  ),
}));

afterEach(cleanup);

const table = (name: string, columns: string[], rows: Cell[][]) =>
  ({
    name,
    meaning: "",
    complete: true,
    columns: columns.map((column) => ({ name: column, type: "real", unit: "", role: "measure" })),
    rows,
  }) as unknown as ClusterTableMessage;

const MEASURED =
  "measure unit base_mean comparison_mean diff base_p50 comparison_p50 base_p99 comparison_p99 verdict".split(" ");
const requests = table("compare_request", MEASURED, [
  ["TTFT", "ms", 20, 30, 10, 18, 28, 40, 60, "changed"],
  ["batch", "requests", 2, 4, 2, 2, 4, 2, 4, "too noisy to decide"],
]);
const distribution = table(
  "compare_distribution",
  ["measure", "unit", "share_percent", "base_value", "comparison_value"],
  [
    ["TTFT", "ms", 0, 10, 15],
    ["TTFT", "ms", 100, 41, 61],
    ["batch", "requests", 0, 1, 3],
    ["batch", "requests", 100, 2, 4],
  ],
);

it("shows both sides of a measure over each other, with its unit", () => {
  const store = storeOf(sessionOf([]));
  show(store, <Requests table={requests} word={String} distribution={distribution} />);
  const rows = () => [...document.querySelectorAll(".grid-row")] as HTMLElement[];
  expect(rows()[0]!.textContent).toContain("30.00 ms");
  expect(rows()[0]!.textContent).toContain("changed");
  expect(rows()[1]!.textContent).not.toContain("ms");
  // The side under study comes first.
  expect(screen.getByTestId("drawn").textContent).toBe("15.00 ms 0, 61.00 ms 1 / 10.00 ms 0, 41.00 ms 1");
  fireEvent.click(within(rows()[1]!).getByText("batch"));
  expect(store.get().detail["compare.measure"]).toBe("batch");
  expect(screen.getByTestId("drawn").textContent).toBe("3 0, 4 1 / 1 0, 2 1");
});
