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
    let unanswered = 0;
    let most = 0;
    await page.route("**/api/session*", async (route) => {
      ++asked;
      most = Math.max(most, ++unanswered);
      const answer = await route.fetch();
      await new Promise((done) => setTimeout(done, 200));
      --unanswered;
      await route.fulfill({ response: answer });
    });
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    // One question at a time, and no end of them.
    most = unanswered;
    const before = asked;
    await expect.poll(() => asked - before, { timeout: 50_000 }).toBeGreaterThan(4);
    expect(most).toBe(1);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
