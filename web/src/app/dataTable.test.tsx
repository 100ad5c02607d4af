// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { DataTable, tableOf } from "./DataTable";
import type { Store } from "./state";
import { sessionOf, show as showIn, storeOf } from "./testing";
import { useTable } from "./useTable";

let store: Store;
beforeEach(() => {
  store = storeOf(sessionOf([]));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
const show = (children: ReactNode) => showIn(store, children);

const answer = tableOf(
  ["name:text", "dur:integer", "size_bytes:integer"],
  [
    ["mm", 2_000_000, 4096],
    ["add", 500, 10],
    ["mm", 3_000_000, 1],
  ],
);
const cells = () =>
  [...document.querySelectorAll(".grid-row")].map((row) => [...row.querySelectorAll("span")].map((c) => c.textContent));
const filter = (text: string) => fireEvent.change(screen.getByLabelText("Filter rows"), { target: { value: text } });

it("shows values with their units, and filters by them", () => {
  show(<DataTable name="t" answer={answer} trace={-1} />);
  expect(cells()[0]).toEqual(["mm", "2.000 ms", "4.00 KiB"]);
  filter("dur>1ms");
  expect(cells().map((row) => row[1])).toEqual(["2.000 ms", "3.000 ms"]);
  expect(store.get().detail["f.t"]).toBe("dur>1ms");
});

it("reports the part of a filter that it does not understand", () => {
  show(<DataTable name="t" answer={answer} trace={-1} />);
  filter("dur>1 parsec");
  filter("duration>5");
  expect(screen.getByRole("status").textContent).toContain("No column is named duration");
  expect(screen.getByLabelText("Filter rows").getAttribute("aria-invalid")).toBe("true");
});

it("groups, and leads from a group to its rows", () => {
  show(<DataTable name="t" answer={answer} trace={-1} />);
  fireEvent.change(screen.getByLabelText("Group by"), { target: { value: "0" } });
  expect(cells()).toEqual([
    ["mm", "2", "5.000 ms", "4.00 KiB"],
    ["add", "1", "500 ns", "10 B"],
  ]);
  fireEvent.click(document.querySelector(".grid-row")!);
  expect(cells().map((row) => row[0])).toEqual(["mm", "mm"]);
  expect(store.get().detail["f.t"]).toBe('name="mm"');
});

it("sorts by a header, and the other way at a second click", () => {
  show(<DataTable name="t" answer={answer} trace={-1} />);
  const times = () => cells().map((row) => row[1]);
  fireEvent.click(screen.getByRole("button", { name: "dur" }));
  expect(times()).toEqual(["3.000 ms", "2.000 ms", "500 ns"]);
  fireEvent.click(screen.getByRole("button", { name: "dur ↓" }));
  expect(times()).toEqual(["500 ns", "2.000 ms", "3.000 ms"]);
});

function Asked() {
  const table = useTable({ sql: "SELECT 1", trace: 0 });
  return <DataTable name="t" answer={table} trace={0} sql="SELECT 1" />;
}

it("shows why there is no answer, and asks again", async () => {
  const refused = { ok: false, status: 400, statusText: "", text: () => Promise.resolve('{"error":"no such table"}') };
  const given = { ok: true, json: () => Promise.resolve(answer.data) };
  const fetched = vi.fn().mockResolvedValueOnce(refused).mockResolvedValue(given);
  vi.stubGlobal("fetch", fetched);
  show(<Asked />);
  expect((await screen.findByRole("alert")).textContent).toContain("no such table");
  fireEvent.click(screen.getByRole("button", { name: "Ask again" }));
  await waitFor(() => expect(cells()).toHaveLength(3));
  expect(screen.queryByRole("alert")).toBeNull();
});

it("ends the statement in the server when nobody waits any more", async () => {
  const fetched = vi.fn().mockReturnValue(new Promise(() => {}));
  vi.stubGlobal("fetch", fetched);
  const { unmount } = show(<Asked />);
  await waitFor(() => expect(fetched).toHaveBeenCalledOnce());
  unmount();
  await waitFor(() => expect(fetched).toHaveBeenCalledTimes(2));
  expect(String(fetched.mock.calls[1]![0])).toContain("/api/cancel?id=");
});

it("writes the columns of a declared result by their units and roles", () => {
  const about = [
    { name: "device_id", type: "integer", unit: "", role: "key", better: "", space: "device", meaning: "number" },
    { name: "alloc_ns", type: "integer", unit: "ns", role: "label", better: "", space: "", meaning: "allocation" },
    { name: "wait_ns", type: "integer", unit: "ns", role: "measure", better: "less", space: "", meaning: "waited" },
    { name: "ratio_percent", type: "real", unit: "%", role: "measure", better: "", space: "", meaning: "share" },
    {
      name: "doing_slice_id",
      type: "integer",
      unit: "",
      role: "key",
      better: "",
      space: "slice",
      meaning: "its slice",
    },
  ];
  const declared = tableOf(
    about.map(({ name, type }) => `${name}:${type}`),
    [
      [12345, 2_000_000, 500, 25, 7],
      [1, 3_000_000, 1000, 50, 8],
    ],
  );
  show(<DataTable name="t" answer={declared} trace={0} about={about} />);
  // Moments are no durations, numbers of devices have no blanks, the number of the slice is not shown.
  expect(cells()).toEqual([
    ["12345", "2.000000 ms", "500 ns", "25.00 %"],
    ["1", "3.000000 ms", "1.000 µs", "50.00 %"],
  ]);
  const parts = [...document.querySelectorAll<HTMLElement>(".grid-row span.part")].map((cell) =>
    cell.style.getPropertyValue("--part"),
  );
  expect(parts).toEqual(["50%", "25%", "100%", "50%"]);
  expect(screen.getByRole("button", { name: "wait" }).title).toBe("wait_ns: waited (ns)");
  filter("alloc>2.5ms");
  expect(cells()).toHaveLength(1);
});

it("leads from a row of a declared result to its slice", () => {
  const about = [
    { name: "doing_slice_id", type: "integer", unit: "", role: "key", better: "", space: "slice", meaning: "" },
  ];
  const { actions } = show(
    <DataTable name="t" answer={tableOf(["doing_slice_id:integer", "x:text"], [[7, "a"]])} trace={2} about={about} />,
  );
  const select = vi.spyOn(actions, "select").mockResolvedValue();
  fireEvent.click(document.querySelector(".grid-row")!);
  expect(select).toHaveBeenCalledWith(2, 7, true);
});
