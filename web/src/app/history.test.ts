// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { isStep, keepHistory } from "./history";
import { Store, startPlace, startState } from "./state";

let stop = () => {};
let store: Store;
const follow = vi.fn();
beforeEach(() => {
  vi.useFakeTimers();
  history.replaceState(null, "", "/");
  store = new Store(startState({ ...startPlace, detail: {} }));
  stop = keepHistory(store, startPlace, follow);
});
afterEach(() => {
  stop();
  follow.mockReset();
  vi.useRealTimers();
});
const rest = () => vi.advanceTimersByTime(500);

it("has a step for views and selections, none for what is typed or moved", () => {
  const detail = (part: Record<string, string>) => ({ ...startPlace, detail: part });
  expect(isStep(startPlace, { ...startPlace, view: "sql" })).toBe(true);
  expect(isStep(startPlace, { ...startPlace, selection: { trace: 0, id: 4 } })).toBe(true);
  expect(isStep(startPlace, detail({ request: "3" }))).toBe(true);
  expect(isStep(startPlace, { ...startPlace, window: { begin: 0, end: 5 } })).toBe(false);
  expect(isStep(startPlace, detail({ top: "40", "f.kernels": "mm", sql: "SELECT" }))).toBe(false);
});

it("writes steps as entries of the browser's history, the rest into the last of them", () => {
  const before = history.length;
  store.set({ view: "tables" });
  rest();
  store.set({ window: { begin: 1, end: 9 } });
  rest();
  expect(history.length).toBe(before + 1);
  expect(location.hash).toBe("#view=tables&window=1%2C9");
});

it("does not put off a step while answers keep coming", () => {
  const before = history.length;
  for (const view of ["tables", "sql"] as const) {
    store.set({ view });
    for (let i = 0; i < 5; ++i) {
      vi.advanceTimersByTime(100);
      store.set({ hit: i });
    }
  }
  expect(history.length).toBe(before + 2);
  expect(location.hash).toBe("#view=sql");
});

it("keeps no token in the address", () => {
  stop();
  history.replaceState(null, "", "/?token=secret#view=sql");
  stop = keepHistory(store, startPlace, follow);
  expect(location.href).toMatch(/\/#view=sql$/);
});

it("goes to the place in the address, and fetches what it names", () => {
  store.set({ view: "tables", selection: { trace: 0, id: 4 } });
  rest();
  const before = history.length;
  location.hash = "#slice=0:7";
  window.dispatchEvent(new Event("hashchange"));
  rest();
  expect(store.get()).toMatchObject({ view: "timeline", selection: { trace: 0, id: 7 }, slice: null });
  expect(follow).toHaveBeenCalledOnce();
  expect(history.length).toBeLessThanOrEqual(before + 1);
});
