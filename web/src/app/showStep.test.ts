import { expect, it, vi } from "vitest";

import { api } from "../api/client";
import type { Actions } from "./actions";
import { showStep } from "./showStep";
import type { Store } from "./state";

/** What the page does with the answer: the slice that it selects, or the window that it shows. */
async function shown(step: number, ...rows: (number | string | null)[][]) {
  vi.spyOn(api, "sql").mockResolvedValue({ columns: [], rows, complete: true, elapsed: 0 });
  vi.spyOn(api, "offsetOf").mockReturnValue(5);
  const state = { session: { base: "1000", traces: [{ begin: 10, end: 10 }] }, folded: ["0"] };
  const done: unknown[] = [];
  const actions = {
    select: (...words: unknown[]) => done.push(words),
    setWindow: (window: unknown) => done.push(window),
  };
  const store = { get: () => state, set: () => undefined };
  showStep(0, step, store as unknown as Store, actions as unknown as Actions);
  await vi.waitFor(() => expect(done).toHaveLength(1));
  return done[0];
}

it("selects the slice of a step, else shows its time on the common clock, else the whole trace", async () => {
  expect(await shown(3, [42, 100, 50])).toEqual([0, 42, true, true]);
  expect(await shown(3, [-1, 100, 50])).toEqual({ begin: 105, end: 155 });
  expect(await shown(3, [null, 100, 0])).toEqual({ begin: 105, end: 106 });
  expect(await shown(3)).toEqual({ begin: 10, end: 11 });
  expect(await shown(-1)).toEqual({ begin: 10, end: 11 });
});
