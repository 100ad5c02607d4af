/** A trace of a GPU without lanes of overlap: those that are computed are lanes like others. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { COMPUTED, OVERLAP_KINDS } from "../src/views/timeline/overlap";
import { open, sharedData } from "./page";

const data = sharedData();
const FREE = COMPUTED + OVERLAP_KINDS.indexOf("Free");

it.skipIf(data === "")("finds, selects and sums computed slices, and shows what the host did in a gap", async () => {
  const opened = await open(join(data, "kineto/ns_resolution_trace"));
  try {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await page.locator("header .loading").waitFor({ state: "detached" });
    const asked = await page.request.get(`${opened.address}api/recipe?trace=0&name=overlap_analysis`);
    const { columns, rows } = (await asked.json()) as { columns: { name: string }[]; rows: (string | number)[][] };
    const at = (name: string) => columns.findIndex((column) => column.name === name);
    const gaps = rows
      .filter((row) => row[at("type")] === "Free")
      .map((row) => Number(BigInt(row[at("end_ns")]!) - BigInt(row[at("start_ns")]!)));
    expect(gaps.length).toBeGreaterThan(100);

    await page.locator("#search").fill("Free");
    await page.getByLabel("Whole name").click();
    await page.locator("#search").press("Enter");
    const hits = page.getByTestId("hits");
    await expect.poll(() => hits.getAttribute("data-rows")).toBe(String(gaps.length));
    // The longest first.
    await hits.getByRole("button", { name: "dur" }).click();
    await hits.locator(".grid-row").first().click();
    await page.getByRole("tab", { name: "Selection" }).click();
    const longest = formatDuration(Math.max(...gaps));
    await expect.poll(() => page.getByTestId("details").innerText()).toContain("The host meanwhile");
    await expect.poll(() => page.getByTestId("timeline").getAttribute("data-selected-y")).not.toBe("");
    await opened.shot("gap");

    // The host did no more in it than it is long.
    const meanwhile = page.getByTestId("details").locator(".block", { hasText: "The host meanwhile" });
    const ms = (text: string) => {
      const [, value, unit] = /([\d.]+) (ns|µs|ms|s)/.exec(text)!;
      return Number(value) * { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 }[unit as "ms"];
    };
    for (const text of await meanwhile.locator("dd").allInnerTexts())
      expect(ms(text)).toBeLessThanOrEqual(ms(longest) + 0.001);

    const shown = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("window"));
    await expect.poll(shown).not.toBeNull();
    await opened.go(`area=-1,4000000000000000;0:${FREE}&panel=area&drawer=1`);
    const totals = page.getByTestId("area-grid").locator(".grid-row").first().locator("span");
    const sum = gaps.reduce((a, b) => a + b, 0);
    await expect
      .poll(() => totals.allInnerTexts())
      .toEqual(expect.arrayContaining(["Free", formatDuration(sum), longest]));
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});

it.skipIf(data === "")("has a lower panel of any height, by mouse and by keys", async () => {
  const opened = await open(join(data, "kineto/ns_resolution_trace"));
  try {
    const { page } = opened;
    await opened.go("panel=marks&drawer=1");
    const edge = page.getByRole("separator");
    await edge.waitFor();
    const height = async () => (await page.locator(".drawer").boundingBox())!.height;
    const before = await height();
    const box = (await edge.boundingBox())!;
    await page.mouse.move(700, box.y + 3);
    await page.mouse.down();
    await page.mouse.move(700, box.y - 147, { steps: 3 });
    await page.mouse.up();
    await expect.poll(height).toBeGreaterThan(before + 140);
    const higher = await height();
    await edge.focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(height).toBe(higher - 24);
    await expect.poll(() => page.url()).toContain("x.drawer=");
  } finally {
    await opened.close();
  }
});
