import { afterEach, expect, it, vi } from "vitest";

import { MOST_ROWS, api } from "./client";

afterEach(() => vi.unstubAllGlobals());

it("asks for the rest of an analysis that is longer than an answer", async () => {
  const columns = [{ name: "n", type: "integer" }];
  const rows = Array.from({ length: MOST_ROWS + 5 }, (_, i) => [i]);
  const asked: string[] = [];
  vi.stubGlobal("fetch", (address: string, init: RequestInit) => {
    const statement = String(init.body ?? address);
    asked.push(statement);
    const from = Number(/OFFSET (\d+)/.exec(statement)?.[1] ?? 0);
    const part = rows.slice(from, from + MOST_ROWS);
    const message = { columns, rows: part, complete: from > 0, elapsed: 1 };
    return Promise.resolve({ ok: true, json: () => Promise.resolve(message) });
  });
  const table = await api.wholeRecipe(0, "overlap_analysis", "n");
  expect(table.rows).toEqual(rows);
  expect(table.complete).toBe(true);
  expect(asked.length).toBe(3);
  expect(asked[2]).toContain(`ORDER BY n LIMIT ${MOST_ROWS} OFFSET ${MOST_ROWS}`);
});
