/** A folder without a trace, and a file that is none: the page says what to do. */
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
    expect(await opened.page.getByTestId("opening").innerText()).toContain("sonde view ./profile");
    await opened.shot("nothing");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
