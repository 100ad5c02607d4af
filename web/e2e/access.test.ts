/** Every view by keys alone, and readable in both themes. */
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { views } from "../src/views/list";
import { axeFinds, faintTexts, walkByTab } from "./access";
import { type Opened, open, sharedData } from "./page";

const data = sharedData();

const places: [string, string][] = [
  ["timeline", ""],
  ["selection", "slice=0:3303&drawer=1"],
  ["search", "search=aten::mm&panel=search&drawer=1"],
  ["flame graph", "panel=flame&drawer=1&x.flame=stacks"],
  ["marks", "marks=0,1000,3,first&panel=marks&drawer=1"],
  ...views.filter((view) => view.name !== "timeline").map((view): [string, string] => [view.name, `view=${view.name}`]),
  ["statement", `view=sql&x.ran=1&x.chart=bars&x.sql=${encodeURIComponent("SELECT name, dur FROM slice LIMIT 9")}`],
];

describe.skipIf(data === "")("access", () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(
      join(data, "ascend_pt/text/level1/rank0_ascend_pt"),
      join(data, "ascend_pt/text/level1/rank1_ascend_pt"),
    );
    await opened.go();
    await opened.page.locator("header .loading").waitFor({ state: "detached" });
  });
  afterAll(() => opened?.close());

  it.each(places)("reads well in both themes, and Tab leads everywhere: %s", async (name, hash) => {
    const { page } = opened;
    for (const theme of ["light", "dark"]) {
      await opened.go(`${hash}&theme=${theme}`);
      await opened.settle();
      expect(await faintTexts(page), theme).toEqual([]);
      expect(await axeFinds(page), theme).toEqual([]);
      await opened.shot(`${name.replace(" ", "-")}-${theme}`);
    }
    expect(await walkByTab(page)).toEqual([]);
    // In Chinese no header of a table is left in English.
    await opened.go(`${hash}&lang=zh`);
    await opened.settle();
    const headers = await page.locator("[role=grid]:not([data-testid=sql-result]) [role=columnheader]").allInnerTexts();
    // Hardware counters have their names everywhere.
    const isName = (text: string) => /^Rank$|GB\/s|^ai[cv]|^cube /.test(text);
    expect(headers.filter((text) => !/[\u4e00-\u9fff]/.test(text) && !isName(text))).toEqual([]);
    await opened.shot(`${name.replace(" ", "-")}-chinese`);
  });

  it("opens, walks and closes dialogs by keys", async () => {
    const { page } = opened;
    await opened.go();
    await opened.settle();
    for (const [key, dialog] of [
      ["?", "Keys and mouse"],
      ["o", "Open a file or folder"],
      ["Control+k", "Commands"],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByRole("dialog", { name: dialog }).waitFor();
      expect(await faintTexts(page), dialog).toEqual([]);
      expect(await axeFinds(page), dialog).toEqual([]);
      for (let i = 0; i < 12; ++i) {
        await page.keyboard.press("Tab");
        await expect
          .poll(() => page.evaluate(() => document.activeElement!.closest("[role=dialog]") !== null))
          .toBe(true);
      }
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });

  it.each([700, 1024, 1152, 1280])("shows every tab and button in windows %i pixels wide", async (width) => {
    const { page } = opened;
    const usual = page.viewportSize()!;
    await page.setViewportSize({ width, height: 640 });
    await opened.go("search=mm");
    await opened.settle();
    const wrong = await page.evaluate(() => {
      const parts = [...document.querySelectorAll("header h1, header button, header input")];
      const boxes = parts.map((part) => ({ name: part.textContent, box: part.getBoundingClientRect() }));
      const clash = (a: DOMRect, b: DOMRect) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      const hidden = boxes.filter(({ box }) => box.width < 10 || box.left < 0 || box.right > innerWidth);
      const over = boxes.filter(({ box }, i) => boxes.some((other, at) => at < i && clash(box, other.box)));
      const seen = parts.filter((part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        return !part.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
      });
      return [...hidden, ...over].map(({ name }) => name).concat(seen.map((part) => part.textContent));
    });
    expect(wrong).toEqual([]);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    await opened.shot(`narrow-${width}`);
    await page.setViewportSize(usual);
  });

  it("finds a lane by the palette, folded away or not", async () => {
    const { page } = opened;
    await opened.go("fold=1|1/device");
    await opened.settle();
    await page.keyboard.press("Control+p");
    await page.keyboard.type("rank 1 stream 4");
    await page.keyboard.press("Enter");
    const state = () => new URLSearchParams(page.url().split("#")[1] ?? "");
    await expect.poll(() => Number(state().get("x.top"))).toBeGreaterThan(300);
    expect(state().get("fold")).toBeNull();
    // Keys act on it.
    await page.keyboard.press("t");
    await expect.poll(() => state().get("pin") ?? "").toMatch(/^1:\d+$/);
    await opened.shot("lane-found");
  });

  it("runs a command, chooses a completion and a row without a mouse", async () => {
    const { page } = opened;
    await opened.go();
    await opened.settle();
    await page.keyboard.press(">");
    await page.keyboard.type("sql");
    await page.keyboard.press("Enter");
    const box = page.getByLabel("SQL", { exact: true });
    await box.focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("SELECT slice_id, name FROM fra");
    await page.getByTestId("completion").getByText("framework_op").waitFor();
    await page.keyboard.press("Tab");
    await expect.poll(() => box.inputValue()).toBe("SELECT slice_id, name FROM framework_op");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("SELECT slice_id FROM slice LIMIT 1");
    await page.keyboard.press("Control+Enter");
    const grid = page.getByTestId("sql-result");
    await grid.locator(".grid-row").first().click();
    await page.getByRole("alert").getByText("choose one").waitFor();
    await page.keyboard.press("Escape");
    await box.focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("SELECT slice_id, name, rank FROM slice ORDER BY dur DESC, slice_id LIMIT 5");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => grid.getAttribute("data-rows")).toBe("5");
    const third = (await grid.locator(".grid-row").nth(2).locator("span").nth(1).innerText()).trim();
    await grid.locator(".grid-body").focus();
    for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByTestId("times").waitFor();
    await expect.poll(() => page.getByTestId("times").locator("dd").first().innerText()).toBe(third);
  });
});
