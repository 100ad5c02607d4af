/** Waits that no profiler recorded are known by when all ranks arrived: every row of an operation has them. */
import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { GAP, TOGETHER, makeJob } from "./job";
import { open } from "./page";

const RANKS = 4;
const STEPS = 3;

it("lists operations with the waits known from all ranks, and leads to their slices", async () => {
  const job = makeJob({ ranks: RANKS, steps: STEPS, computing: (rank) => 400 + rank * 10 });
  const opened = await open(job.folder);
  try {
    const { page } = opened;
    await opened.read();
    for (const trace of [0, RANKS - 1]) {
      await opened.go(`view=communication&x.rank=${trace}`);
      const table = page.getByTestId("communication-table");
      await expect.poll(() => table.getAttribute("data-rows")).toBe(String(STEPS));
      const head = (await table.getByRole("columnheader").allInnerTexts()).map((text) => text.trim());
      const at = (name: string) => head.findIndex((text) => text.startsWith(name));
      // The last rank waits for nobody; what is left of each is the transfer.
      const wait = (RANKS - 1 - trace) * 10_000;
      const transit = (TOGETHER - 10 - 400 - (RANKS - 1) * 10 - GAP) * 1000;
      for (const row of await table.locator(".grid-row").all()) {
        const cells = await row.getByRole("gridcell").allInnerTexts();
        expect([cells[at("wait")], cells[at("transit")]]).toEqual([formatDuration(wait), formatDuration(transit)]);
      }
      await table.locator(".grid-row").first().click();
      await expect
        .poll(() => page.getByTestId("details").innerText())
        .toMatch(new RegExp(`ncclDevKernel_AllReduce[^]*Rank ${trace} `));
    }
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    job.remove();
  }
});

it("asks the only trace by itself", async () => {
  const job = makeJob({ ranks: 1, steps: STEPS, computing: () => 400 });
  const opened = await open(job.folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=communication");
    const table = page.getByTestId("communication-table");
    await expect.poll(() => table.getAttribute("data-rows")).toBe(String(STEPS));
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    job.remove();
  }
});
