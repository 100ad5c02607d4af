/** A comparison of two real dumps: rows are coloured by their cause, chosen by it, and explained. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { axeFinds, faintTexts } from "./access";
import { binary, open, sharedData } from "./page";

const dumps = join(sharedData(), "precision_26_2/torch");
const SET = "mix_statistics_statistics_b1";
const ROWS = "values";

/** What `sonde probe compare --store` writes of two dumps. */
function compare(target: string, golden: string, folder: string) {
  const words = ["probe", "compare", "-tp", target, "-gp", golden, "-o", folder, "--store", "--format", "json"];
  return JSON.parse(execFileSync(binary, words, { encoding: "utf8" })) as { first: string; pairs: { place: string; module: string; source: string }[] }; // prettier-ignore
}

const dumpOf = (side: string) => join(dumps, SET, side, "step0");

it.skipIf(!existsSync(join(dumps, SET)))("shows a comparison of two real dumps", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-values-"));
  const found = compare(dumpOf("target"), dumpOf("golden"), folder);
  const pair = found.pairs[0]!;
  const opened = await open(folder);
  const { page } = opened;
  try {
    // Without a word in the address: there is no timeline to begin with.
    await opened.go();
    const rows = page.getByTestId(ROWS).locator(".grid-row");
    await rows.first().waitFor({ timeout: 60_000 });
    expect(await page.locator("nav[aria-label] [aria-current=page]").first().innerText()).toBe("Values");
    expect(await page.getByText("Nothing to show").count()).toBe(0);
    expect(await page.getByTestId("values-sentence").innerText()).toContain(found.first);

    // The first difference stands first, and is marked.
    expect(await page.getByTestId(ROWS).locator(".grid-row.begin").count()).toBe(1);
    expect(await rows.first().getAttribute("class")).toContain("tone first begin");
    expect(await rows.first().innerText()).toContain(pair.place);

    for (const theme of ["light", "dark"]) {
      await opened.go(`theme=${theme}`);
      await rows.first().waitFor();
      await opened.settle();
      await opened.shot(`values-${theme}`);
      expect(await faintTexts(page)).toEqual([]);
      expect(await axeFinds(page)).toEqual([]);
    }

    // A click explains the row.
    await rows.first().click();
    const panel = page.getByTestId("values-row");
    await panel.getByTestId("values-numbers").waitFor();
    const text = await panel.innerText();
    for (const part of [pair.module, pair.source]) expect(text).toContain(part);
    await panel.getByTestId("values-advice").waitFor();
    for (const theme of ["light", "dark"]) {
      await opened.go(`theme=${theme}&${(await opened.state()).replace(/theme=\w+&?/, "")}`);
      await panel.getByTestId("values-advice").waitFor();
      await opened.settle();
      await opened.shot(`values-row-${theme}`);
      expect(await faintTexts(page)).toEqual([]);
      expect(await axeFinds(page)).toEqual([]);
    }
    await panel.getByRole("button", { name: "Close" }).click();
    await panel.waitFor({ state: "detached" });

    // One cause alone; what comes behind leads back to the first.
    await page.getByTestId("values-causes").getByRole("button", { name: /^behind the first difference/ }).click(); // prettier-ignore
    await expect.poll(() => page.getByTestId(ROWS).locator(".grid-row:not(.behind)").count()).toBe(0);
    await rows.first().waitFor();
    await rows.first().click();
    await panel.getByRole("button", { name: "Show it" }).click();
    await expect.poll(() => panel.innerText()).toContain(pair.place);

    // Statements on the page see the tables that `sonde query` sees.
    const statement = "select cause, count(*) as n from precision_statistics group by 1 order by 1";
    await opened.go(`view=sql&x.ran=1&x.sql=${encodeURIComponent(statement)}`);
    await page.getByTestId("sql-result").locator(".grid-row").first().waitFor();
    const answered = await page.getByTestId("sql-result").locator(".grid-row").allInnerTexts();
    const store = readdirSync(folder).find((name) => name.endsWith(".duckdb"))!;
    const asked = execFileSync(binary, ["query", join(folder, store), statement, "--format", "csv"], { encoding: "utf8" }); // prettier-ignore
    expect(answered.map((row) => row.replace(/\s*\n\s*/g, ",")).join("\n")).toBe(asked.trim().split("\n").slice(1).join("\n")); // prettier-ignore
    await page.locator(".side-list").getByText("precision_statistics").waitFor();
    await opened.shot("values-sql");
    // The folder of the user stays as it was.
    expect(readdirSync(folder).filter((name) => name.endsWith(".zoom"))).toEqual([]);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it.skipIf(!existsSync(join(dumps, SET)))("marks an argument that differs, with both values", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-argument-"));
  // The golden dump once more, in which one call got another argument and gave something else.
  const copy = join(folder, "target");
  cpSync(dumpOf("golden"), copy, { recursive: true });
  const inside = join(copy, readdirSync(copy)[0]!);
  const file = join(inside, "dump.json");
  writeFileSync(file, changed(readFileSync(file, "utf8")));
  const result = join(folder, "result");
  const found = compare(copy, dumpOf("golden"), result);
  expect(found.first).toContain("argument differs");
  const opened = await open(result, "--port", "0");
  const { page } = opened;
  try {
    await opened.go();
    await page.getByTestId(ROWS).locator(".grid-row.begin").click();
    const numbers = page.getByTestId("values-numbers");
    await expect.poll(() => numbers.innerText()).toMatch(/value\s+3\s+2/);
    await opened.settle();
    await opened.shot("values-argument");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A dump in which a call got another exponent, and gave something else; infinities are no JSON. */
function changed(text: string): string {
  const at = text.indexOf('"Tensor.pow.0.forward"');
  const call = text
    .slice(at)
    .replace(/("value": ?)2\b/, "$13")
    .replace(/("output": ?\[.*?"Max": ?)[-.e\d]+/s, "$177.5");
  return text.slice(0, at) + call;
}

it.skipIf(!existsSync(join(dumps, SET)))("shows comparisons of tensors and of checksums side by side", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-modes-"));
  const sets = ["L0_tensor_statistics_b1", "L1_statistics_md5_b1"];
  for (const set of sets) compare(join(dumps, set, "target"), join(dumps, set, "golden"), join(folder, set));
  const opened = await open(folder);
  const { page } = opened;
  try {
    await opened.go();
    await opened.read();
    const select = page.getByRole("combobox", { name: "Comparison" });
    await expect.poll(() => select.locator("option").count()).toBe(2);
    for (const [at, head] of ["cosine", "target md5"].entries()) {
      await select.selectOption({ index: at });
      await page.getByTestId(ROWS).getByRole("columnheader", { name: head }).waitFor();
      await page.getByTestId(ROWS).locator(".grid-row.begin").click();
      await page.getByTestId("values-numbers").waitFor();
      await opened.settle();
      await opened.shot(`values-${["tensor", "md5"][at]}`);
    }
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
