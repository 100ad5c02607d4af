/** Two traces side by side: the result of the command, as sentences, causes, tree and flame graph. */
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

interface Comparison {
  causes: { cause: string; subject: string; diff_ms: number }[];
  tree: { parent: number | null; name: string; base_ms: number; comparison_ms: number }[];
}

function comparison(): Comparison {
  const folder = mkdtempSync(join(tmpdir(), "sonde-compare-"));
  try {
    const words = ["compare", "-d", other, "-bp", base, "-o", folder, "--format", "json"];
    return JSON.parse(
      execFileSync(binary, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    ) as Comparison;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it.skipIf(data === "")(
  "shows the result of the command, and leads to the timeline",
  async () => {
    const { causes, tree } = comparison();
    const opened = await open(other, "--baseline", base);
    try {
      const { page } = opened;
      await opened.read();
      await opened.go("view=compare&x.compare.base=0&x.compare.new=1");
      const rows = page.getByTestId("compare-causes").locator(".grid-row");
      await rows.first().waitFor({ timeout: 60_000 });
      await expect.poll(() => page.getByTestId("compare-causes").getAttribute("data-rows")).toBe(String(causes.length));
      const [first] = causes;
      const cells = (await rows.first().innerText()).split("\n");
      expect(cells[0]).toBe(first!.cause);
      expect(cells).toContain(formatDuration(first!.diff_ms * 1e6));
      await expect.poll(() => page.getByTestId("compare-stages").locator(".grid-row").count()).toBe(5);
      await expect.poll(() => page.getByTestId("compare-sentences").locator("li").count()).toBeGreaterThan(1);

      await page.getByRole("button", { name: "Tree", exact: true }).click();
      const nodes = page.getByTestId("compare-tree").locator(".grid-row");
      await nodes.first().waitFor();
      const top = tree.find(({ parent }) => parent === 0)!;
      expect((await nodes.nth(1).innerText()).split("\n")).toContain(formatDuration(top.comparison_ms * 1e6));

      for (const part of ["causes", "tree", "flame", "memory", "timelines"]) {
        for (const theme of ["light", "dark"]) {
          await opened.go(`${opened.hash}&x.compare.part=${part}&theme=${theme}`);
          await opened.settle();
          await opened.shot(`compare-${part}-${theme}`);
          expect(await faintTexts(page), part).toEqual([]);
          expect(await axeFinds(page), part).toEqual([]);
        }
        expect(await walkByTab(page), part).toEqual([]);
      }
      // The curves and what was alive at the peaks: of the whole the rows below it are the parts.
      await opened.go(`${opened.hash}&x.compare.part=memory`);
      await page.getByTestId("compare-memory").waitFor();
      const peaks = page.getByTestId("compare-peaks").locator(".grid-row");
      await expect.poll(() => peaks.count()).toBeGreaterThan(3);
      await expect.poll(() => peaks.first().innerText()).toContain("all of it");

      await opened.go(`${opened.hash}&lang=zh`);
      await opened.settle();
      await opened.shot("compare-chinese");
      await expect.poll(() => page.getByTestId("compare-sentences").innerText()).toContain("基线");

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

/** Begins and lengths of the steps of a trace, in nanoseconds of the epoch. */
function stepsOf(path: string): [begin: bigint, dur: bigint][] {
  const words = ["query", path, "SELECT ts::VARCHAR AS ts, dur FROM step ORDER BY ts, step_id", "--format", "json"];
  const answer = execFileSync(binary, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return (JSON.parse(answer) as { ts: string; dur: number }[]).map(({ ts, dur }) => [BigInt(ts), BigInt(dur)]);
}

it.skipIf(data === "")(
  "brings chosen steps of both timelines under each other, and they zoom as one",
  async () => {
    const [ofBase, ofOther] = [stepsOf(base), stepsOf(other)];
    const opened = await open(other, "--baseline", base);
    try {
      const { page } = opened;
      await opened.read();
      // As `--baseline` opens it; the base is the second trace then.
      await opened.go(`${opened.hash}&x.compare.part=timelines`);
      const state = () => new URLSearchParams(page.url().split("#")[1] ?? "");
      const numbers = (name: string, by: string) => (state().get(name) ?? "").split(by).map(Number);
      const [below, above] = [page.getByTestId("timeline-base"), page.getByTestId("timeline-comparison")];
      await below.waitFor();
      const steps = page.getByLabel("Step of the base");
      await expect.poll(() => steps.locator("option").count()).toBe(ofBase.length);
      const at = ofBase.length - 1;
      await steps.selectOption(String(at));
      await page.getByLabel("Step under study").selectOption("0");
      const apart = ofOther[0]![0] - ofBase[at]![0];
      await expect.poll(() => numbers("offset", ":")[1]).toBe(Number(apart));
      const longer = Number([ofBase[at]![1], ofOther[0]![1]].reduce((a, b) => (a > b ? a : b)));
      const span = () => numbers("window", ",").reduce((begin, end) => end - begin);
      await expect.poll(span).toBeGreaterThan(longer);
      expect(span()).toBeLessThan(1.2 * longer);

      // Each pane has the lanes of its own trace, and is scrolled by itself; a zoom is of both.
      const shown = (pane: typeof below) => pane.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
      await opened.settle();
      const before = [await shown(above), await shown(below)];
      const box = (await below.boundingBox())!;
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.wheel(0, 200);
      await expect.poll(() => state().get("x.top.0") ?? state().get("x.top.1")).toBe("200");
      await opened.settle();
      await expect.poll(() => shown(above)).toBe(before[0]);
      await expect.poll(() => shown(below)).not.toBe(before[1]);
      const wide = span();
      await page.keyboard.press("w");
      await expect.poll(span).toBeLessThan(wide);
      expect(span()).toBeGreaterThan(wide / 1.2); // one step of the key, not one for each pane
      await opened.settle();
      await expect.poll(() => shown(above)).not.toBe(before[0]);
      // The way back from another view finds the window as it was.
      const left = state().get("window");
      await page.getByRole("button", { name: "Causes", exact: true }).click();
      await page.getByTestId("compare-causes").waitFor();
      await page.getByRole("button", { name: "Timelines", exact: true }).click();
      await below.waitFor();
      await opened.settle();
      expect(state().get("window")).toBe(left);
      expect(opened.errors).toEqual([]);
    } finally {
      await opened.close();
    }
  },
  240_000,
);
