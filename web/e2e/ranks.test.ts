/** The heat map of ranks and steps: its numbers are those of `sonde cluster`, a slow rank is shown and named,
 * and a cell leads to its step. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { axeFinds, faintTexts, walkByTab } from "./access";
import { clusterTable } from "./cluster";
import { type Job, makeJob } from "./job";
import { type Opened, open, sharedData } from "./page";

const SLOW = 1;
const jobOf = (ranks: number, steps: number): Job =>
  makeJob({
    ranks,
    steps,
    // As different as ranks of one job are; from half of the steps on one of them takes longer.
    computing: (rank, step) => 400 + ((rank * 7 + step * 3) % 11) + (rank === SLOW && step >= steps / 2 ? 200 : 0),
  });

/** The text of a cell's tip, by label. Data that arrives meanwhile may move the map away: then again. */
async function tipAt(opened: Opened, row: number, column: number): Promise<Record<string, string>> {
  const tips = opened.page.locator(".cell-map .tip");
  let tip: Record<string, string> = {};
  const point = async () => {
    await opened.page.mouse.move(0, 0);
    await opened.pointAt("ranks-map", row, column);
    await opened.page.waitForTimeout(50);
    tip = await tips.evaluateAll(([first]) => {
      const texts = (name: string) =>
        [...(first?.querySelectorAll<HTMLElement>(name) ?? [])].map((one) => one.innerText);
      const values = texts("dd");
      return Object.fromEntries([["", texts("b")[0]], ...texts("dt").map((label, at) => [label, values[at]])]);
    });
    return tip[""] ?? "";
  };
  await expect.poll(point).not.toBe("");
  return tip;
}

const COLUMNS = {
  step: "stepTime",
  computing: "computation",
  "not overlapped": "communicationNotOverlapComputation",
  free: "free",
  wait: "communicationWaitStageTime",
  transmit: "communicationTransmitStageTime",
};

async function checkCells(
  opened: Opened,
  rows: ReturnType<typeof clusterTable>,
  ranks: number,
  steps: readonly number[],
) {
  for (const rank of [0, SLOW, Math.min(ranks - 1, 20)]) {
    for (const step of [steps[0]!, steps.at(-1)!]) {
      const tip = await tipAt(opened, rank, steps.indexOf(step));
      expect(tip[""]).toBe(`Rank ${rank} · Step ${step}`);
      const row = rows.find((candidate) => candidate["rank"] === rank && candidate["step"] === step)!;
      for (const [name, column] of Object.entries(COLUMNS))
        expect([name, tip[name]]).toEqual([name, formatDuration(Number(row[column]) * 1000)]);
    }
  }
}

for (const [ranks, steps] of [
  [2, 4],
  [8, 6],
  [64, 20],
] as const) {
  it(`has the numbers of the table for ${ranks} ranks, and leads to the step`, async () => {
    const job = jobOf(ranks, steps);
    const rows = clusterTable("cluster_time_summary", job.folder, "ClusterTimeSummary");
    const opened = await open(job.folder);
    try {
      const { page } = opened;
      await opened.read();
      await opened.go("view=ranks");
      const map = page.getByTestId("ranks-map");
      await map.waitFor({ timeout: 30_000 });
      await expect.poll(() => map.getAttribute("aria-rowcount")).toBe(String(ranks));
      await expect.poll(() => map.getAttribute("aria-colcount")).toBe(String(steps));
      await checkCells(opened, rows, ranks, [...Array(steps).keys()]);
      // A test for outliers needs more than two.
      const sentences = page.getByTestId("sentences");
      if (ranks > 2)
        await expect.poll(() => sentences.innerText()).toContain(`rank ${SLOW} is slow since step ${steps / 2}`);
      // The largest first: the slow rank is on top.
      await page.getByRole("button", { name: "Largest first" }).click();
      expect((await tipAt(opened, 0, 0))[""]).toBe(`Rank ${SLOW} · Step 0`);
      await page.getByRole("button", { name: "Against the median rank" }).click();
      const ends = (await page.getByTestId("scale").innerText()).split("\n");
      expect(ends.at(-1)).toMatch(/^\+(19|20)\d\.\d µs$/);
      await opened.shot(`ranks-${ranks}`);

      // By mouse to the last step of the slow rank, and back to all ranks.
      await page.mouse.click(...(await opened.pointAt("ranks-map", 0, steps - 1)));
      await expect
        .poll(() => page.getByTestId("details").innerText())
        .toMatch(new RegExp(`ProfilerStep#${steps - 1}[^]*Rank ${SLOW} `));
      await page.getByRole("button", { name: "This step of all ranks" }).click();
      await map.waitFor();
      expect(opened.errors).toEqual([]);
    } finally {
      await opened.close();
      job.remove();
    }
  });
}

it("draws of many ranks what is seen, and moves over them by keys", async () => {
  const ranks = 256;
  const job = jobOf(ranks, 20);
  const opened = await open(job.folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=ranks");
    const map = page.getByTestId("ranks-map");
    await expect.poll(() => map.getAttribute("aria-rowcount")).toBe(String(ranks));
    await page.getByRole("button", { name: "Free", exact: true }).click();
    await expect.poll(() => page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2000);
    await map.focus();
    await page.keyboard.press("End");
    await expect.poll(() => map.evaluate((element) => element.scrollTop)).toBeGreaterThan(0);
    await expect.poll(() => page.locator(".cell-map .tip b").innerText()).toBe("Rank 255 · Step 19");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByTestId("details").innerText()).toMatch(/Rank 255 /);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    job.remove();
  }
}, 180_000);

const data = sharedData();

it.skipIf(data === "")("reads well in both themes and languages, and by keys alone", async () => {
  const opened = await open(join(data, "ascend_pt/synth8_tp_pp_dp"));
  try {
    const { page } = opened;
    await opened.read();
    for (const [theme, lang] of [
      ["light", "en"],
      ["dark", "zh"],
    ]) {
      await opened.go(`view=ranks&theme=${theme}&lang=${lang}`);
      await page.getByTestId("ranks-map").waitFor({ timeout: 30_000 });
      await expect.poll(() => page.getByTestId("sentences").innerText()).toMatch(/8 .* 2 %/);
      await opened.settle();
      await opened.shot(`ranks-${theme}-${lang}`);
      expect(await faintTexts(page)).toEqual([]);
      expect(await axeFinds(page)).toEqual([]);
    }
    expect(await walkByTab(page)).toEqual([]);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
