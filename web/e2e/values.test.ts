/** A comparison of values: rows are coloured by their cause, and chosen by it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { axeFinds, faintTexts } from "./access";
import { binary, open } from "./page";

type Numbers = readonly [max: number, min: number, mean: number, norm: number];

const tensor = ([Max, Min, Mean, Norm]: Numbers) => ({
  type: "torch.Tensor",
  dtype: "torch.float32",
  shape: [4, 64],
  Max,
  Min,
  Mean,
  Norm,
  requires_grad: true,
});

/** Two layers; the weight of the second may be another. What the first gives differs in the last digit. */
function writeDump(folder: string, weight: number, last: number) {
  const linear = (input: Numbers, weight: Numbers, output: Numbers) => ({
    input_args: [tensor(input)],
    input_kwargs: {},
    parameters: { weight: tensor(weight) },
    output: [tensor(output)],
  });
  const data = {
    "Module.layers.0.Linear.forward.0": linear([2, -2, 0.1, 16], [1, -1, 0, 8], [3 + last, -3, 0.2, 20]),
    "Module.layers.1.Linear.forward.0": linear([3 + last, -3, 0.2, 20], [weight, -1, 0, 8], [weight * 4, -4, 0.3, 30]),
    "Module.head.Linear.forward.0": linear([weight * 4, -4, 0.3, 30], [1, -1, 0, 8], [weight * 5, -5, 0.1, 40]),
  };
  mkdirSync(folder, { recursive: true });
  const dump = { task: "statistics", level: "L0", framework: "pytorch", dump_data_dir: null, data };
  writeFileSync(join(folder, "dump.json"), JSON.stringify(dump));
}

it("colours rows by cause, and shows those of one alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-values-"));
  writeDump(join(folder, "golden"), 1, 0);
  writeDump(join(folder, "target"), 1.5, 2e-7);
  const file = (side: string) => join(folder, side, "dump.json");
  const words = ["probe", "compare", "-tp", file("target"), "-gp", file("golden"), "-o", folder, "--store"];
  execFileSync(binary, words, { stdio: "ignore" });
  const store = readdirSync(folder).find((name) => name.endsWith(".duckdb"))!;
  const opened = await open(join(folder, store));
  try {
    const { page } = opened;
    await opened.go("view=values");
    const rows = page.getByTestId("values").locator(".grid-row");
    await rows.first().waitFor({ timeout: 60_000 });
    const first = page.getByTestId("values").locator(".grid-row.first");
    expect(await first.count()).toBe(1);
    expect(await first.innerText()).toContain("Module.layers.1.Linear.forward.0.parameters.weight");
    expect(await first.innerText()).toContain("changed weight");
    for (const theme of ["light", "dark"]) {
      await opened.go(`view=values&theme=${theme}`);
      await rows.first().waitFor();
      await opened.settle();
      await opened.shot(`values-${theme}`);
      expect(await faintTexts(page)).toEqual([]);
      expect(await axeFinds(page)).toEqual([]);
    }
    await page
      .getByTestId("values-causes")
      .getByRole("button", { name: /^rounding only/ })
      .click();
    await expect.poll(() => page.getByTestId("values").locator(".grid-row:not(.rounding)").count()).toBe(0);
    expect(await rows.count()).toBeGreaterThan(0);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
