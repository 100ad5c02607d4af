// @vitest-environment happy-dom
import { act, cleanup, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import { ranges } from "../api/client";
import { serve, sessionOf, show, storeOf, traceOf } from "./testing";
import { Partial, useRanks } from "./useRanks";
import { versionsOf } from "./useTable";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Sum() {
  const asked = useRanks("op_statistic");
  return (
    <p data-testid="sum">
      {asked.answers.reduce((sum, { table }) => sum + Number(table.rows[0]![0]), 0)} <Partial of={asked} />
      {asked.failed?.error?.message}
    </p>
  );
}

/** Each trace has its number as its only row; an answer holds so many traces. */
const numbers = (most = 10_000) => ({
  "/api/results": (address: URL) => {
    const parts = address.searchParams
      .get("traces")!
      .split(",")
      .flatMap((range) => {
        const [first, last = first] = range.split("-").map(Number) as [number, number?];
        return Array.from({ length: last! - first + 1 }, (_, i) => first + i);
      });
    const part = (trace: number) => ({ trace, error: "", complete: true, rows: [[trace]] });
    return { name: "op_statistic", columns: [{ name: "n", type: "integer" }], parts: parts.slice(0, most).map(part) };
  },
});
const traces = (count: number) => Array.from({ length: count }, (_, id) => traceOf(id));

it("asks for the results of a thousand traces at once, and only for those that came since", async () => {
  const asked = serve(numbers());
  const store = storeOf(sessionOf(traces(1000)));
  show(store, <Sum />);
  await waitFor(() => expect(screen.getByTestId("sum").textContent).toContain("499500"));
  expect(asked).toEqual(["/api/results?traces=0-999&name=op_statistic"]);
  act(() => store.set({ session: sessionOf([...traces(1001), traceOf(1001, { state: "reading" })]) }));
  await waitFor(() => expect(screen.getByTestId("sum").textContent).toContain("500500"));
  expect(asked[1]).toBe("/api/results?traces=1000&name=op_statistic");
  // The one that is still being read counts as missing.
  expect(screen.getByTestId("sum").textContent).toContain("1001 of 1002");
});

it("asks again for those that an answer left out", async () => {
  const asked = serve(numbers(4));
  show(storeOf(sessionOf(traces(10))), <Sum />);
  await waitFor(() => expect(screen.getByTestId("sum").textContent).toContain("45"));
  expect(asked).toHaveLength(3);
});

it("reports why one trace has no result, and shows the others", async () => {
  serve({
    "/api/results": () => ({
      name: "op_statistic",
      columns: [],
      parts: [
        { trace: 0, error: "", complete: true, rows: [[5]] },
        { trace: 1, error: "cut off", complete: false, rows: [] },
      ],
    }),
  });
  show(storeOf(sessionOf(traces(2))), <Sum />);
  await waitFor(() => expect(screen.getByTestId("sum").textContent).toBe("5 1 of 2 traces so farcut off"));
});

it("names numbers by ranges", () => {
  expect(ranges([3, 1, 2, 9, 11, 12])).toBe("1-3,9,11-12");
});

it("asks over many that are being read when they have doubled", () => {
  const reading = (ready: number) =>
    versionsOf(sessionOf([...traces(ready), traceOf(ready, { state: "reading" })], { loading: true }));
  expect(reading(40)).toBe(reading(63));
  expect(reading(64)).not.toBe(reading(63));
  expect(reading(3)).not.toBe(reading(4));
  expect(versionsOf(sessionOf(traces(64)))).not.toBe(reading(64));
});
