/** Two traces side by side: what the command says of them, as sentences, causes, tree and flame graph. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { axeFinds, faintTexts, walkByTab } from "./access";
import { binary, open, sharedData } from "./page";

const data = sharedData();
const base = join(data, "ascend_pt/text/level1/rank0_ascend_pt");
const other = join(data, "ascend_pt/text/level1/rank1_ascend_pt");

interface Said {
  causes: { cause: string; subject: string; diff_ms: number }[];
  tree: { parent: number | null; name: string; base_ms: number; comparison_ms: number }[];
}

function said(): Said {
  const folder = mkdtempSync(join(tmpdir(), "sonde-compare-"));
  try {
    const words = ["compare", "-d", other, "-bp", base, "-o", folder, "--format", "json"];
    return JSON.parse(execFileSync(binary, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })) as Said;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it.skipIf(data === "")(
  "shows what the command says, and leads to the timeline",
  async () => {
    const { causes, tree } = said();
    const opened = await open(other, "--baseline", base);
    try {
      const { page } = opened;
      await opened.read();
      await opened.go("view=compare&x.compare.base=0&x.compare.new=1");
      const rows = page.getByTestId("compare-causes").locator(".grid-row");
      await rows.first().waitFor({ timeout: 60_000 });
      expect(await page.getByTestId("compare-causes").getAttribute("data-rows")).toBe(String(causes.length));
      const [first] = causes;
      const cells = (await rows.first().innerText()).split("\n");
      expect(cells[0]).toBe(first!.cause);
      expect(cells).toContain(formatDuration(first!.diff_ms * 1e6));
      expect(await page.getByTestId("compare-stages").locator(".grid-row").count()).toBe(4);
      expect(await page.getByTestId("compare-said").locator("li").count()).toBeGreaterThan(1);

      await page.getByRole("button", { name: "Tree", exact: true }).click();
      const nodes = page.getByTestId("compare-tree").locator(".grid-row");
      await nodes.first().waitFor();
      const top = tree.find(({ parent }) => parent === 0)!;
      expect((await nodes.nth(1).innerText()).split("\n")).toContain(formatDuration(top.comparison_ms * 1e6));

      for (const part of ["causes", "tree", "flame"]) {
        for (const theme of ["light", "dark"]) {
          await opened.go(`${opened.hash}&x.compare.part=${part}&theme=${theme}`);
          await opened.settle();
          await opened.shot(`compare-${part}-${theme}`);
          expect(await faintTexts(page), part).toEqual([]);
          expect(await axeFinds(page), part).toEqual([]);
        }
        expect(await walkByTab(page), part).toEqual([]);
      }
      await opened.go(`${opened.hash}&lang=zh`);
      await opened.settle();
      await opened.shot("compare-chinese");
      expect(await page.getByTestId("compare-said").innerText()).toContain("基线");

      await opened.go(`${opened.hash}&x.compare.part=flame`);
      const box = page.getByTestId("difference-flame").locator("button").last();
      await box.waitFor();
      await box.click();
      await expect.poll(() => page.url()).toContain("search=");
      expect(opened.errors).toEqual([]);
    } finally {
      await opened.close();
    }
  },
  240_000,
);
