/** `npm run dev`: Vite serves the page, and hands what it asks for on to a running `sonde view`. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

it("serves the page from its sources on the data of a running program", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-dev-"));
  const events = [{ ph: "X", name: "typed", pid: 1, tid: 2, ts: 1, dur: 5 }];
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  const opened = await open(folder);
  const vite = spawn("npx", ["vite", "--port", "0", "--host", "127.0.0.1"], {
    cwd: resolve(import.meta.dirname, ".."),
    env: { ...process.env, SONDE_VIEW: opened.link, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  try {
    const address = await new Promise<string>((done, fail) => {
      let text = "";
      vite.stdout.on("data", (piece: Buffer) => {
        text += piece.toString();
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
        if (found) done(found[0]);
      });
      vite.once("exit", (code) => fail(new Error(`vite ended with ${code}: ${text}`)));
    });
    const { page } = opened;
    await page.context().clearCookies(); // the proxy has the token
    await page.goto(address);
    await page.getByTestId("timeline").waitFor();
    const script = await page.evaluate(() => document.querySelector<HTMLScriptElement>("script[src*=main]")?.src);
    expect(script).toContain("/src/main.tsx");
    const found = await page.request.post(`${address}/api/sql?trace=0`, { data: "SELECT name FROM slice" });
    expect(((await found.json()) as { rows: unknown }).rows).toEqual([["typed"]]);
    expect(opened.errors).toEqual([]);
  } finally {
    process.kill(-vite.pid!, "SIGTERM");
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
