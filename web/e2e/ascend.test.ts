/** A real capture of two ranks (text deliverables): what a user does, and the spec's verified numbers. */
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { views } from "../src/views/list";
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
    await expect.poll(() => page.getByTestId("details").innerText()).toMatch(/ForeachAddList/);
    await opened.shot("selection");
    const before = await page.getByTestId("times").innerText();
    const state = await opened.state();
    expect(state).toContain("slice=");
    await opened.go(state);
    await page.getByTestId("times").waitFor();
    await expect.poll(() => page.getByTestId("times").innerText()).toBe(before);
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
    await expect.poll(() => page.getByTestId("times").locator("dd").first().innerText()).not.toBe(kernel);
    await opened.shot("flow");
    await page.keyboard.press("]");
    await expect.poll(() => page.getByTestId("flows").count()).toBe(1);
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
      await cell("operator-types", 0, 0),
      await cell("operator-types", 0, 2),
      await cell("operator-types", 0, 3),
      await cell("operator-types", 0, 4),
    ]).toEqual(["ForeachAddList", "3", "1.959 ms", "22.077"]);
    await opened.shot("operators");
  });

  it.each(["0", "-1"])("has every table of rank %s, -1 being all", async (rank) => {
    const { page } = opened;
    for (const { name } of presets) {
      await opened.go(`view=tables&x.table=${name}&x.rank=${rank}`);
      await page.getByTestId("table").waitFor();
      await expect.poll(() => page.getByRole("alert").count(), { message: `${name} of ${rank}` }).toBe(0);
    }
  });

  it("filters, sorts and exports tables", async () => {
    const { page } = opened;
    await opened.go("view=tables&x.table=kernels&x.rank=0");
    await page.getByTestId("table").locator(".grid-row").first().waitFor();
    await page.getByLabel("Filter rows").fill("TransData");
    await expect.poll(() => page.getByTestId("row-count").innerText()).toBe("57 rows");
    await page.getByRole("columnheader", { name: "dur" }).click();
    await page.getByRole("columnheader", { name: "dur ↓" }).waitFor();
    await expect.poll(() => cell("table", 0, 5)).not.toBe("");
    const waiting = page.waitForEvent("download");
    await page.getByLabel("Export").selectOption("csv");
    const download = await waiting;
    expect(download.suggestedFilename()).toBe("sonde-kernels.csv");
    const stream = await download.createReadStream();
    let text = "";
    for await (const piece of stream) text += String(piece);
    // What is filtered and sorted on the page is in the file.
    expect(text.split("\n")[0]).toContain("task_id,slice_id,name");
    expect(text.trim().split("\n").length).toBe(58);
    for (const format of ["xlsx", "parquet"]) {
      const other = page.waitForEvent("download");
      await page.getByLabel("Export").selectOption(format);
      expect((await other).suggestedFilename()).toBe(`sonde-kernels.${format}`);
    }
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
    await expect.poll(() => page.getByTestId("sql-result").getAttribute("data-rows")).toBe("5");
    await opened.shot("sql");
    await page.getByLabel("SQL", { exact: true }).fill("SELECT count(*) FROM range(1000000000) a, range(1000000000) b");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("alert").waitFor();
    await expect.poll(() => page.getByRole("alert").innerText()).toContain("cancelled");
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
    const width = () => {
      const found = /window=(-?\d+)(?:,|%2C)(-?\d+)/.exec(page.url());
      return found ? Number(found[2]) - Number(found[1]) : Infinity;
    };
    for (const key of ["w", "w", "w", "d"]) await page.keyboard.press(key);
    await expect.poll(width).not.toBe(Infinity);
    await opened.settle();
    const before = width();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await expect.poll(width).toBeLessThan(before);
    await page.keyboard.press("Home");
    await expect.poll(() => page.url()).not.toContain("window=");
  });

  it("moves, pins and aligns lanes by keys alone", async () => {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await opened.settle();
    const state = () => new URLSearchParams(page.url().split("#")[1] ?? "");
    // Rank, group, and the first lane of the group.
    for (let i = 0; i < 3; ++i) await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+PageDown");
    await expect.poll(() => state().get("order") ?? "").not.toBe("");
    await page.keyboard.press("t");
    await expect.poll(() => state().get("pin") ?? "").toMatch(/^0:\d+$/);
    await page.keyboard.press("Enter");
    await page.getByTestId("times").waitFor();
    await page.keyboard.press("k");
    await page.getByTestId("marks").waitFor();
    await expect.poll(() => state().get("marks") ?? "").toMatch(/,0,Mark 1$/);
    await page.keyboard.press("Shift+F10");
    await page.getByTestId("menu").waitFor();
    await opened.shot("menu");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByTestId("menu").count()).toBe(0);
  });

  it("shows a rank later by its offset, and a link keeps it", async () => {
    const { page } = opened;
    const asked = await page.request.post(`${opened.address}api/sql?trace=1`, {
      data: "SELECT slice_id FROM slice WHERE name LIKE 'ProfilerStep%'",
    });
    const { rows } = (await asked.json()) as { rows: number[][] };
    const times = page.getByTestId("times");
    await opened.go(`slice=1:${rows[0]![0]}&drawer=1`);
    await times.waitFor();
    const start = async () => (await times.locator("dd").nth(2).innerText()).trim();
    const raw = async () => (await times.locator("dd").nth(7).innerText()).trim();
    const [before, recorded] = [await start(), await raw()];
    await opened.go(`slice=1:${rows[0]![0]}&drawer=1&offset=1:5000000`);
    await times.waitFor();
    await expect.poll(() => raw()).toBe(recorded);
    const ms = (text: string) => Number(/(\d+) ms/.exec(text)![1]);
    expect(ms(await start()) - ms(before)).toBe(5);
    // By keys: the step of rank 0 is the base, that of rank 1 begins with it.
    const first = await page.request.post(`${opened.address}api/sql?trace=0`, {
      data: "SELECT slice_id FROM slice WHERE name LIKE 'ProfilerStep%'",
    });
    const base = ((await first.json()) as { rows: number[][] }).rows[0]![0];
    await opened.go(`slice=0:${base}&drawer=1`);
    await times.waitFor();
    await page.keyboard.press("b");
    await page.evaluate((hash) => (location.hash = hash), `slice=1:${rows[0]![0]}&drawer=1`);
    await expect.poll(raw).toBe(recorded);
    await page.keyboard.press("l");
    const offset = () => /offset=1(?::|%3A)(-?\d+)/.exec(page.url())?.[1] ?? "";
    await expect.poll(offset).not.toBe("");
    // Opened again, so that nothing is on its way any more.
    const link = `drawer=1&offset=1:${offset()}`;
    await opened.go(`slice=1:${rows[0]![0]}&${link}`);
    await times.waitFor();
    const aligned = await start();
    await opened.go(`slice=0:${base}&${link}`);
    await times.waitFor();
    await expect.poll(() => raw()).not.toBe(recorded);
    await expect.poll(() => start()).toBe(aligned);
  });

  it("takes the range of a mark where the rank is shown later", async () => {
    const { page } = opened;
    const asked = await page.request.post(`${opened.address}api/sql?trace=0`, {
      data: "SELECT min(alloc_ts)::VARCHAR, max(alloc_ts)::VARCHAR FROM memory_block",
    });
    const session = (await (await page.request.get(`${opened.address}api/session`)).json()) as { base: string };
    const { rows } = (await asked.json()) as { rows: string[][] };
    const [first, last] = rows[0]!.map((ts) => Number(BigInt(ts) - BigInt(session.base))) as [number, number];
    const found: string[][] = [];
    for (const offset of [0, 10e6]) {
      const middle = (first + last) / 2 + offset;
      await opened.go(
        `view=memory&x.rank=0&offset=0:${offset}&marks=${Math.round(middle)},${Math.round(middle + 2e6)},0,part`,
      );
      await page.getByLabel("Range of a mark").selectOption("part");
      await page.getByRole("button", { name: "Whole time" }).waitFor();
      await opened.settle();
      found.push([await page.getByTestId("row-count").innerText(), await cell("memory-blocks", 0, 0)]);
    }
    expect(found[0]![0]).not.toBe("184 rows");
    expect(found[1]).toEqual(found[0]);
  });

  it("lists what lives at a moment, by operator and module", async () => {
    const { page } = opened;
    await opened.go("view=memory&x.rank=0");
    const curve = page.getByTestId("memory-curve");
    await curve.waitFor();
    await page.getByTestId("memory-owners").locator(".bar-row").first().waitFor();
    const all = await page.getByTestId("memory-alive").innerText();
    const box = (await curve.boundingBox())!;
    await page.mouse.click(box.x + box.width * 0.6, box.y + 60);
    await expect.poll(() => page.getByTestId("memory-alive").innerText()).not.toBe(all);
    await page.getByRole("button", { name: "By module" }).click();
    await opened.shot("memory-alive");
  });

  it("draws a result, chooses columns, and pages through what is long", async () => {
    const { page } = opened;
    const sql = "SELECT range AS n, range % 7 AS m FROM range(1000000)";
    await opened.go(`view=sql&x.rank=0&x.chart=line&x.sql=${encodeURIComponent(sql)}`);
    await page.getByLabel("SQL", { exact: true }).focus();
    await page.keyboard.press("Control+Enter");
    const grid = page.getByTestId("sql-result");
    await expect.poll(() => grid.getAttribute("data-rows")).toBe("1000000");
    await page.getByTestId("sql-chart").waitFor();
    // To the last row.
    await grid.locator(".grid-body").focus();
    await grid.locator(".grid-row").first().click();
    await grid.locator(".grid-body").evaluate((body) => (body.scrollTop = body.scrollHeight));
    await grid.getByText("999\u2009999").waitFor();
    await page.getByRole("columnheader", { name: "m" }).click();
    await grid.locator(".grid-body").evaluate((body) => (body.scrollTop = 0));
    await expect.poll(() => cell("sql-result", 0, 1)).toBe("6");
    await page.getByLabel("Filter rows").fill("n<10");
    await expect.poll(() => grid.getAttribute("data-rows")).toBe("10");
    await page.getByText("Columns", { exact: true }).click();
    await page.getByRole("checkbox", { name: "m" }).uncheck();
    await expect.poll(() => page.getByRole("columnheader").count()).toBe(1);
    await opened.shot("pages");
  });

  it("computes the flame graph of stacks, and leaves no page without texts in Chinese", async () => {
    const { page } = opened;
    await opened.go("panel=flame&drawer=1&x.flame=stacks");
    await page.getByTestId("flame").locator("button").first().waitFor();
    await opened.shot("flame-stacks");
    for (const { name } of views.filter((view) => view.name !== "timeline")) {
      await opened.go(`view=${name}&lang=zh`);
      await expect.poll(() => page.locator("main").innerText(), { message: name }).toMatch(/[\u4e00-\u9fff]/);
    }
  });

  it("draws while the wheel turns, not only when it rests", async () => {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await opened.settle();
    const changed = await page.evaluate(async () => {
      const canvas = document.querySelector<HTMLCanvasElement>("[data-testid=timeline]")!;
      const box = canvas.getBoundingClientRect();
      const before = canvas.toDataURL();
      let drawn = 0;
      for (let i = 0; i < 30; ++i) {
        const at = { clientX: box.left + 600, clientY: box.top + 200 };
        canvas.dispatchEvent(
          new WheelEvent("wheel", { ...at, bubbles: true, cancelable: true, deltaY: -20, ctrlKey: true }),
        );
        await new Promise((done) => requestAnimationFrame(done));
        if (canvas.toDataURL() !== before) ++drawn;
      }
      return drawn;
    });
    expect(changed).toBeGreaterThan(0);
  });

  it("goes back and forward through views and selections", async () => {
    const { page } = opened;
    await opened.go("view=tables&x.table=kernels&x.rank=0&x.f.kernels=TransData");
    await page.getByTestId("table").locator(".grid-row").first().click();
    await page.getByTestId("times").waitFor();
    const first = await page.getByTestId("times").innerText();
    await opened.settle();
    await page.keyboard.press(",");
    await expect.poll(() => page.getByTestId("times").innerText()).not.toBe(first);
    await opened.settle();
    await page.goBack();
    await expect.poll(() => page.getByTestId("times").innerText()).toBe(first);
    await page.goBack();
    await expect.poll(() => page.getByTestId("row-count").innerText()).toBe("57 rows");
    await page.goForward();
    await expect.poll(() => page.getByTestId("times").innerText()).toBe(first);
  });

  it("draws curves over their whole time", async () => {
    const { page } = opened;
    await opened.go("view=memory&x.rank=0");
    const curve = page.getByTestId("memory-curve");
    await curve.locator("canvas").waitFor();
    await opened.settle();
    const box = (await curve.boundingBox())!;
    const at = async (share: number) => {
      await page.mouse.move(box.x + 90 + (box.width - 110) * share, box.y + 40);
      return (await curve.locator(".tip b").innerText()).trim();
    };
    // From 100 ms before the first slice to 147 ms behind it.
    await expect.poll(() => at(0)).toMatch(/^-9\d\.\d+ ms$/);
    await expect.poll(() => at(1)).toMatch(/^14\d\.\d ms$/);
  });

  it("comes back by a link to where one had scrolled", async () => {
    const { page } = opened;
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await opened.settle();
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, 240);
    await expect.poll(() => page.url()).toContain("x.top=240");
    const thumb = () => page.locator(".scrollbar div").evaluate((bar) => (bar as HTMLElement).style.top);
    const before = await thumb();
    await opened.go(await opened.state());
    await page.getByTestId("timeline").waitFor();
    await expect.poll(thumb).toBe(before);
  });
});
