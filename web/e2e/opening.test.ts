/** What is seen while traces are still being read. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

it("shows lanes although changes come faster than answers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-opening-"));
  const events = [{ ph: "X", name: "work", pid: 1, tid: 2, ts: 1, dur: 5 }];
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  const opened = await open(folder);
  try {
    const { page } = opened;
    await page.addInitScript(() => {
      class Restless {
        onmessage: (() => void) | null = null;
        private timer = setInterval(() => this.onmessage?.(), 20);
        close() {
          clearInterval(this.timer);
        }
      }
      window.EventSource = Restless as unknown as typeof EventSource;
    });
    let asked = 0;
    await page.route("**/api/session*", async (route) => {
      ++asked;
      const answer = await route.fetch();
      await new Promise((done) => setTimeout(done, 200));
      await route.fulfill({ response: answer });
    });
    await opened.go();
    await page.getByTestId("timeline").waitFor({ timeout: 10_000 });
    // One question at a time.
    const before = asked;
    await page.waitForTimeout(1000);
    expect(asked - before).toBeGreaterThan(1);
    expect(asked - before).toBeLessThan(8);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
