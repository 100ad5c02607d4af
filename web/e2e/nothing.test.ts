/** A folder without a trace, and a file that is none: the page advises what to do. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

it("explains what it reads where there is nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-nothing-"));
  writeFileSync(join(folder, "trace_view.json"), '[{"ph": "X", "name"');
  const opened = await open(folder);
  try {
    await opened.go();
    await opened.page.getByText("Nothing to show").waitFor();
    await expect.poll(() => opened.page.getByTestId("opening").innerText()).toContain("sonde view ./profile");
    await expect.poll(() => opened.page.getByTestId("trace-list").innerText()).not.toContain("Ready");
    // The reason is shown there, not behind a button.
    await opened.page.getByTestId("issues").waitFor();
    await opened.shot("nothing");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it("opens what is typed, and lists what it did not read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-typed-"));
  writeFileSync(join(folder, "notes.txt"), "nothing");
  writeFileSync(join(folder, "cut.json"), '[{"ph": "X", "name"');
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.go();
    await page.getByText("Nothing to show").waitFor();
    const events = [{ ph: "X", name: "typed", pid: 1, tid: 2, ts: 1, dur: 5 }];
    writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
    await page.getByRole("textbox", { name: "Path of a trace file or folder" }).fill(`${folder}/tr`);
    await page.getByTestId("entries").getByText("trace.json").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByTestId("timeline").waitFor();
    await page.keyboard.press("o");
    await page.getByRole("dialog").waitFor();
    await page.getByRole("textbox", { name: "Path of a trace file or folder" }).fill("/etc");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await expect.poll(() => page.getByRole("alert").innerText()).toContain("outside");
    await page.keyboard.press("Escape");
    await page.getByTestId("traces-button").click();
    await page.getByTestId("ignored").locator("summary").click();
    await expect.poll(() => page.getByTestId("ignored").innerText()).toContain("notes.txt");
    await opened.shot("typed");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
