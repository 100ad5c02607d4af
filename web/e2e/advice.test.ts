/** What the command advises stands on the page, each with its evidence, and leads to the timeline. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { axeFinds, faintTexts, walkByTab } from "./access";
import { type Opened, binary, open, sharedData } from "./page";

const data = sharedData();
const ranks = [0, 1].map((rank) => join(data, `ascend_pt/text/level1/rank${rank}_ascend_pt`));

interface Advice {
  rule: string;
  title: string;
  description: string;
  slice: number | null;
}

function adviceOf(language: "en" | "cn"): Advice[] {
  const folder = mkdtempSync(join(tmpdir(), "sonde-advice-"));
  try {
    const words = ["advisor", "all", "-d", ranks[0]!, "-l", language, "--agent"];
    const env = { ...process.env, XDG_CACHE_HOME: folder };
    const text = execFileSync(binary, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], env });
    return (JSON.parse(text) as { message: { advice: Advice[] } }).message.advice;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const squeezed = (text: string) => text.replace(/\s+/g, " ").trim();

async function looksWell(opened: Opened, name: string) {
  for (const theme of ["light", "dark"]) {
    await opened.go(`${opened.hash}&theme=${theme}`);
    await opened.settle();
    await opened.shot(`advice-${name}-${theme}`);
    expect(await faintTexts(opened.page), theme).toEqual([]);
    expect(await axeFinds(opened.page), theme).toEqual([]);
  }
  expect(await walkByTab(opened.page)).toEqual([]);
}

it.skipIf(data === "")(
  "shows the advice of the command in both languages, and leads to the place",
  async () => {
    const opened = await open(ranks[0]!);
    try {
      const { page } = opened;
      await opened.read();
      for (const [language, shown] of [
        ["en", "en"],
        ["cn", "zh"],
      ] as const) {
        const advice = adviceOf(language);
        opened.hash = `view=advice&lang=${shown}`;
        await opened.go(opened.hash);
        const cards = page.getByTestId("advice").locator("article");
        await cards.first().waitFor({ timeout: 30_000 });
        const titles = await cards.locator("h3").allInnerTexts();
        expect(titles.toSorted()).toEqual(advice.map(({ title }) => title).toSorted());
        for (const { rule, description } of advice) {
          const card = page.getByTestId(`advice-${rule}`);
          expect(squeezed(await card.innerText())).toContain(squeezed(description));
          await expect.poll(() => card.getByTestId("advice-evidence").innerText()).toMatch(/\d+ (times?|次)/);
        }
        await looksWell(opened, shown);
      }

      await opened.go("view=advice");
      const { rule, slice } = adviceOf("en").find((one) => one.slice !== null)!;
      const evidence = page.getByTestId(`advice-${rule}`).getByTestId("advice-evidence");
      await evidence.getByRole("button", { name: "Show in timeline" }).click();
      await expect.poll(() => page.url()).toContain(`slice=0%3A${slice}`);
      await page.getByTestId("times").waitFor();
      await expect.poll(() => page.url()).not.toContain("view=advice");

      // The statement behind it has the rows that were judged.
      await opened.go("view=advice");
      await evidence.getByRole("button", { name: "Show rows" }).click();
      await expect.poll(() => page.url()).toContain("view=sql");
      await page.getByTestId("sql-result").waitFor({ timeout: 30_000 });
      await expect.poll(() => page.getByTestId("sql-result").getAttribute("data-rows")).not.toBe("0");

      // A row that shows it leads to its own place.
      await opened.go("view=advice");
      await page.getByTestId("advice-byte_alignment_analysis").locator("tbody button").last().click();
      await page.getByTestId("times").waitFor();
      expect(opened.errors).toEqual([]);
    } finally {
      await opened.close();
    }
  },
  240_000,
);

it.skipIf(data === "")(
  "judges all ranks together, or one of them, also beside another one",
  async () => {
    const opened = await open(...ranks);
    try {
      const { page } = opened;
      await opened.read();
      await opened.go("view=advice");
      await page.getByTestId("advice-slow_rank_cause").waitFor({ timeout: 60_000 });
      await opened.shot("advice-ranks");
      await page.locator(".toolbar select").first().selectOption("1");
      await page.getByTestId("advice-slow_rank_cause").waitFor({ state: "detached" });
      await page.getByTestId("advice-over_all").waitFor();
      await page.locator(".toolbar select").last().selectOption("0");
      await page.getByTestId("advice-api_compare").waitFor({ timeout: 60_000 });
      await opened.shot("advice-compared");
      expect(opened.errors).toEqual([]);
    } finally {
      await opened.close();
    }
  },
  240_000,
);
