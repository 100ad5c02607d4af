/** The live view: buttons and switches, with a program's answers (test_view_hard.py has a real one). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

it("starts with what was chosen, stops, and opens the result", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-live-"));
  const events = [{ ph: "X", name: "work", pid: 1, tid: 2, ts: 1, dur: 5 }];
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  const opened = await open(folder);
  try {
    const { page } = opened;
    const program = {
      address: "http://127.0.0.1:9001",
      state: "idle",
      message: "",
      pid: 4242,
      rank: 0,
      records: 0,
      bytes: 0,
      dropped: 0,
      path: join(folder, "trace.json"),
    };
    const asked: string[] = [];
    await page.route("**/api/session*", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), live: true } });
    });
    await page.route("**/api/live**", (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname !== "/api/live") asked.push(`${pathname} ${route.request().postData() ?? ""}`);
      if (pathname.endsWith("start")) Object.assign(program, { state: "recording", records: 1234, bytes: 65_536 });
      if (pathname.endsWith("stop")) program.state = "idle";
      return route.fulfill({ json: [program] });
    });
    await opened.go("view=live");
    await page.getByTestId("programs").getByText("Idle").waitFor();
    await page.getByLabel("Level").selectOption("Level2");
    await page.getByLabel("Call stacks").check();
    await page.getByRole("button", { name: "Start recording" }).click();
    await page.getByTestId("programs").getByText("1\u2009234").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Start recording" }).isDisabled()).toBe(true);
    await opened.shot("live");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByTestId("timeline").waitFor();
    await expect.poll(() => page.url()).toContain("window=");
    expect(asked.map((line) => line.split(" ")[0])).toEqual(["/api/live/start", "/api/live/stop"]);
    expect(JSON.parse(asked[0]!.slice(asked[0]!.indexOf(" ")))).toEqual({
      experimental_config: { _profiler_level: "Level2" },
      record_shapes: true,
      with_stack: true,
      profile_memory: false,
      with_modules: false,
    });
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
