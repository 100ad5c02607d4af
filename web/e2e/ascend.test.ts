/** A real capture of two ranks (text deliverables): what a user does, and the spec's verified numbers. */
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { presets } from "../src/views/tables/presets";
import { type Opened, open, sharedData } from "./page";

const data = sharedData();

describe.skipIf(data === "")("page on a real capture", () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(
      join(data, "ascend_pt/text/level1/rank0_ascend_pt"),
      join(data, "ascend_pt/text/level1/rank1_ascend_pt"),
    );
    await opened.go();
    await opened.page.getByTestId("timeline").waitFor();
    await opened.page.locator("header .loading").waitFor({ state: "detached" });
  });
  afterAll(() => opened?.close());
  afterEach(() => expect(opened.errors).toEqual([]));

  const cell = async (grid: string, row: number, column: number) =>
    (await opened.page.getByTestId(grid).locator(".grid-row").nth(row).locator("span").nth(column).innerText()).trim();

  it("draws lanes, no page longer than the screen", async () => {
    await opened.settle();
    expect(Number(await opened.page.getByTestId("timeline").getAttribute("data-rows"))).toBeGreaterThan(20);
    const overflow = await opened.page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
    expect(overflow).toBe(0);
    await opened.shot("timeline");
  });

  it("finds, selects, steps and links", async () => {
    const { page } = opened;
    await page.keyboard.press("/");
    await page.keyboard.type("^ForeachAddList|aclnnForeach.*ForeachAddList");
    await page.getByLabel("Regular expression").click();
    await page.locator("#search").press("Enter");
    await page.getByTestId("hits").waitFor();
    await page.getByTestId("hits").locator(".grid-row").first().click();
    await page.getByRole("tab", { name: "Selection" }).click();
    await page.getByTestId("times").waitFor();
    expect(await page.getByTestId("details").innerText()).toMatch(/ForeachAddList/);
    await opened.shot("selection");
    const before = await page.getByTestId("times").innerText();
    await page.waitForTimeout(400);
    const link = page.url();
    expect(link).toContain("slice=");
    await opened.go(link.split("#")[1]);
    await page.getByTestId("times").waitFor();
    expect(await page.getByTestId("times").innerText()).toBe(before);
  });

  it("follows the line from a kernel to what launched it, and back", async () => {
    const { page } = opened;
    const asked = await page.request.post(`${opened.address}api/sql?trace=0`, {
      data: "SELECT slice_in FROM flow WHERE kind = 'host_to_device' ORDER BY 1 LIMIT 1",
    });
    const { rows } = (await asked.json()) as { rows: number[][] };
    await opened.go(`slice=0:${rows[0]![0]}`);
    await page.getByTestId("flows").waitFor();
    const kernel = await page.getByTestId("times").locator("dd").first().innerText();
    await page.getByTestId("timeline").focus();
    await page.keyboard.press("[");
    await expect
      .poll(() => page.getByTestId("times").locator("dd").first().innerText(), { timeout: 20_000 })
      .not.toBe(kernel);
    await opened.shot("flow");
    await page.keyboard.press("]");
    await expect.poll(() => page.getByTestId("flows").count(), { timeout: 20_000 }).toBe(1);
  });

  it("shows the verified numbers of overlap and operators", async () => {
    const { page } = opened;
    await opened.go("view=tables&x.table=overlap&x.rank=0");
    await page.getByTestId("table").waitFor();
    const overlap = new Map<string, [string, string]>();
    for (let i = 0; i < 4; ++i)
      overlap.set(await cell("table", i, 0), [await cell("table", i, 1), await cell("table", i, 2)]);
    expect(Object.fromEntries(overlap)).toEqual({
      Communication: ["4", "106.0 ms"],
      "Communication(Not Overlapped)": ["101", "102.0 ms"],
      Free: ["90", "25.74 ms"],
      Computing: ["187", "8.874 ms"],
    });
    await opened.go("view=operators&x.rank=0");
    await page.getByTestId("operator-types").locator(".grid-row").first().waitFor();
    expect([
      await cell("operator-types", 0, 1),
      await cell("operator-types", 0, 3),
      await cell("operator-types", 0, 4),
    ]).toEqual(["ForeachAddList", "3", "1.959 ms"]);
    await opened.shot("operators");
  });

  it("has every table, of one rank and of all", async () => {
    const { page } = opened;
    for (const rank of ["0", "-1"]) {
      for (const { name } of presets) {
        await opened.go(`view=tables&x.table=${name}&x.rank=${rank}`);
        await page.getByTestId("table").waitFor();
        expect(await page.getByRole("alert").count(), `${name} of ${rank}`).toBe(0);
      }
    }
  });

  it("filters, sorts and exports tables", async () => {
    const { page } = opened;
    await opened.go("view=tables&x.table=kernels&x.rank=0");
    await page.getByTestId("table").locator(".grid-row").first().waitFor();
    await page.getByLabel("Filter rows").fill("TransData");
    await expect.poll(() => page.getByTestId("row-count").innerText(), { timeout: 20_000 }).toBe("57 rows");
    await page.getByRole("columnheader", { name: "dur" }).click();
    await page.getByRole("columnheader", { name: "dur ↓" }).waitFor();
    expect(await cell("table", 0, 6)).not.toBe("");
    const waiting = page.waitForEvent("download");
    await page.getByText("Export CSV").click();
    const download = await waiting;
    const stream = await download.createReadStream();
    let text = "";
    for await (const piece of stream) text += String(piece);
    expect(text.split("\r\n")[0]).toContain("task_id,slice_id,name");
    await opened.shot("tables");
    await page.getByTestId("table").locator(".grid-row").first().click();
    await page.getByTestId("times").waitFor();
  });

  it("answers SQL, leads to the timeline, and cancels", async () => {
    const { page } = opened;
    await opened.go("view=sql&x.rank=0");
    await page
      .getByLabel("SQL", { exact: true })
      .fill("SELECT slice_id, name, dur FROM slice ORDER BY dur DESC LIMIT 5");
    await page.keyboard.press("Control+Enter");
    await page.getByTestId("sql-result").locator(".grid-row").first().waitFor();
    expect(await page.getByTestId("sql-result").getAttribute("data-rows")).toBe("5");
    await opened.shot("sql");
    await page.getByLabel("SQL", { exact: true }).fill("SELECT count(*) FROM range(1000000000) a, range(1000000000) b");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toContain("cancelled");
  });

  it("sums an area, and lists its occurrences", async () => {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await opened.settle();
    await page.keyboard.down("Shift");
    await page.mouse.move(300, 160);
    await page.mouse.down();
    await page.mouse.move(1300, 330, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.getByTestId("area-grid").locator(".grid-row").first().click();
    await page.getByText("occurrences").waitFor();
    await opened.shot("area");
    await page.getByRole("tab", { name: "Flame graph" }).click();
    await page.getByTestId("flame").locator("button").first().waitFor();
    await opened.shot("flame");
  });

  it("has the memory curve with its verified peaks", async () => {
    const { page } = opened;
    await opened.go("view=memory&x.rank=0");
    await page.getByTestId("memory-curve").waitFor();
    const peaks = await page.getByTestId("memory-peaks").innerText();
    expect(peaks).toContain("2.06 GiB");
    await opened.shot("memory");
  });

  it("speaks Chinese, is dark, and explains its keys", async () => {
    const { page } = opened;
    await opened.go("lang=zh&theme=dark");
    await page.getByText("时间线").waitFor();
    await opened.settle();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await opened.shot("dark-chinese-help");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Escape");
    for (const [view, part] of [
      ["summary", "steps"],
      ["communication", "communication-groups"],
    ] as const) {
      await opened.go(`view=${view}&theme=dark`);
      await page.getByTestId(part).waitFor();
      await opened.settle();
      await opened.shot(view);
    }
  });

  it("zooms and pans by keys and wheel, and undoes", async () => {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await page.mouse.move(800, 300);
    for (const key of ["w", "w", "w", "d"]) await page.keyboard.press(key);
    await page.waitForTimeout(400);
    const [begin, end] = /window=(-?\d+)(?:,|%2C)(-?\d+)/.exec(page.url())!.slice(1).map(Number) as [number, number];
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await page.waitForTimeout(400);
    const after = /window=(-?\d+)(?:,|%2C)(-?\d+)/.exec(page.url())!.slice(1).map(Number) as [number, number];
    expect(after[1] - after[0]).toBeLessThan(end - begin);
    await page.keyboard.press("Home");
    await expect.poll(() => page.url(), { timeout: 20_000 }).not.toContain("window=");
  });
});
