/** The parts of a pipeline over time: as the mode pp_chart has them, with zoom, and a way to each. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { axeFinds, faintTexts } from "./access";
import { clusterTable } from "./cluster";
import { open, sharedData } from "./page";

const data = sharedData();

it.skipIf(data === "")("draws the parts of each rank, zooms, and leads to one", async () => {
  const folder = join(data, "ascend_pt/synth8_tp_pp_dp");
  const parts = clusterTable("pp_chart", folder, "StepTaskInfo");
  const first = Math.min(...parts.map((part) => Number(part["startNs"])));
  const own = parts.filter((part) => part["rankId"] === 2 && part["type"] === 1);
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=pipeline");
    const chart = page.getByTestId("pipeline");
    await chart.waitFor({ timeout: 30_000 });
    const layout = async () => (await chart.getAttribute("data-layout"))!.split(" ").map(Number) as number[];
    /** The middle of the second backward of rank 2, in the window. */
    const place = async (): Promise<[number, number]> => {
      const [left, head, row, begin, end] = (await layout()) as [number, number, number, number, number];
      const box = (await chart.boundingBox())!;
      const whole = Math.max(...parts.map((part) => Number(part["endNs"]))) - first;
      const zero = starts ?? begin;
      starts = zero;
      const middle = (Number(own[1]!["startNs"]) + Number(own[1]!["endNs"])) / 2 - first;
      expect(end - begin).toBeLessThanOrEqual(whole + 1000);
      return [box.x + left + ((zero + middle - begin) / (end - begin)) * (box.width - left), box.y + head + 2.5 * row];
    };
    let starts: number | null = null;
    await page.mouse.move(...(await place()));
    const tip = page.locator(".cell-map .tip");
    await expect.poll(() => tip.innerText()).toContain("Rank 2 · B1");
    await expect
      .poll(() => tip.innerText())
      .toContain(formatDuration(Number(own[1]!["endNs"]) - Number(own[1]!["startNs"])));
    await opened.settle();
    await opened.shot("pipeline");
    expect(await faintTexts(page)).toEqual([]);
    expect(await axeFinds(page)).toEqual([]);
    // Twice as close around the mouse: the same part stays under it.
    const [, , , begin, end] = await layout();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await expect.poll(async () => (await layout())[4]! - (await layout())[3]!).toBeLessThan((end! - begin!) * 0.6);
    await page.mouse.move(...(await place()));
    await expect.poll(() => tip.innerText()).toContain("Rank 2 · B1");
    await page.mouse.down();
    await page.mouse.up();
    await expect.poll(() => page.getByTestId("details").innerText()).toMatch(/backward[^]*Rank 2 /i);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
