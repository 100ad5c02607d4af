// @vitest-environment happy-dom
import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { SessionMessage } from "../api/messages";
import { translator } from "../i18n";
import { themes } from "../theme/themes";
import { Actions } from "./actions";
import { AppContext } from "./context";
import { DataTable, tableOf } from "./DataTable";
import { Store, startPlace, startState } from "./state";
import { newQueryClient, useTable } from "./useTable";

const session = { base: "0", traces: [] } as unknown as SessionMessage;
let store: Store;
beforeEach(() => {
  store = new Store({ ...startState({ ...startPlace, detail: {} }), session });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(children: ReactNode) {
  const app = { store, actions: new Actions(store), t: translator("en"), theme: themes.light };
  return render(
    <QueryClientProvider client={newQueryClient()}>
      <AppContext.Provider value={app}>{children}</AppContext.Provider>
    </QueryClientProvider>,
  );
}

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

it("says what it does not understand of a filter", () => {
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
