/** Four ranks, of two of which only the tables of communication and steps were kept: verified numbers. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { open, sharedData } from "./page";

const data = sharedData();

it.skipIf(data === "")("has the breakdown of each rank as the profiler has it", async () => {
  const opened = await open(join(data, "ascend_pt/qwen3_tp1_pp2"));
  try {
    const { page } = opened;
    await opened.go("view=summary");
    const ranks = page.getByTestId("ranks").locator(".grid-row");
    const rows = async () => (await ranks.allInnerTexts()).map((text) => text.split("\n").slice(3, 7));
    await expect.poll(rows).toEqual([
      ["231.3 ms", "420.2 ms", "158.6 ms", "0.00 %"],
      ["230.9 ms", "441.7 ms", "136.8 ms", "-0.17 %"],
      ["400.4 ms", "277.6 ms", "131.7 ms", "73.14 %"],
      ["401.1 ms", "261.5 ms", "147.5 ms", "73.43 %"],
    ]);
    // Ranks 2 and 3 are the heavier stage of a pipeline, and not slow.
    await page.getByTestId("findings").waitFor();
    await expect.poll(() => page.getByTestId("findings").innerText()).not.toMatch(/slow/i);
    await page.getByRole("button", { name: "Show rows" }).first().click();
    await expect.poll(() => page.getByTestId("sql-result").getAttribute("data-rows")).not.toBe("0");
    await opened.settle();
    await page.goBack();
    await page.getByTestId("findings").waitFor();
    await opened.shot("summary-of-four");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
