/** Many small ranks: lanes of all with what is in them, a summary that is complete, few questions. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

const RANKS = 150;

it("draws and sums up many ranks by few questions", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-many-"));
  for (let rank = 0; rank < RANKS; ++rank) {
    const traceEvents = Array.from({ length: 40 }, (_, i) =>
      i % 2 === 0
        ? { ph: "X", cat: "cpu_op", name: "aten::mm", pid: rank, tid: 1, ts: 1000 + i * 10, dur: 8 }
        : { ph: "X", cat: "kernel", name: "mm_kernel", pid: 0, tid: 7, ts: 1000 + i * 10, dur: 4, args: { stream: 7 } },
    );
    writeFileSync(join(folder, `rank${rank}.json`), JSON.stringify({ distributedInfo: { rank }, traceEvents }));
  }
  const opened = await open(folder);
  try {
    const { page } = opened;
    const asked = new Map<string, number>();
    page.on("request", (request) => {
      const path = new URL(request.url()).pathname;
      asked.set(path, (asked.get(path) ?? 0) + 1);
    });
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await page.locator("header .loading").waitFor({ state: "detached" });
    await opened.settle();
    await expect.poll(() => page.getByTestId("timeline").getAttribute("data-rows")).toBe(String(RANKS));
    await opened.shot("many");
    await page.keyboard.press("2");
    await page.getByTestId("ranks").waitFor();
    await page.getByTestId("top-operators").waitFor();
    await opened.settle();
    await expect.poll(() => page.getByTestId("ranks").getAttribute("data-rows")).toBe(String(RANKS));
    await expect.poll(() => page.locator(".partial").innerText()).toBe("");
    await expect.poll(() => page.getByTestId("top-operators").innerText()).toMatch(/mm_kernel.*12\.00 ms · 3.000 ×/s);
    await opened.shot("many-summary");
    // A question for each rank would be more than that of all kinds together.
    const most = { "/api/results": 6, "/api/sql": 6, "/api/names": 12, "/api/window": 40, "/api/findings": 6 };
    for (const [path, limit] of Object.entries(most)) expect([path, asked.get(path) ?? 0]).toSatisfy(atMost(limit));
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

const atMost =
  (limit: number) =>
  ([, count]: [string, number]) =>
    count <= limit;
