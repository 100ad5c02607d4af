/** Modules, their operators and kernels as a tree: sums are those of the mode's table, a row leads to where it ran. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatDuration, formatShare } from "../src/base/format";
import { axeFinds, faintTexts } from "./access";
import { clusterTable } from "./cluster";
import { open, sharedData } from "./page";

const data = sharedData();

it.skipIf(data === "")("sums modules as the table has them, opens and closes, and leads to the timeline", async () => {
  const folder = join(data, "ascend_pt/synth8_tp_pp_dp");
  const table = clusterTable("module_statistic", folder, "ModuleStatistic");
  const timeOf = (under: string, rank?: number) =>
    table
      .filter((row) => `${row["parentModule"]}/${row["module"]}/`.includes(under))
      .filter((row) => rank === undefined || row["rankID"] === rank)
      .reduce((sum, row) => sum + Number(row["totalKernelDuration(ns)"]), 0);
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=modules");
    const tree = page.getByTestId("module-tree");
    const cells = async (name: string) => {
      const row = tree.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
      return (await row.getByRole("gridcell").allInnerTexts()).slice(1);
    };
    await expect.poll(() => cells("AlexNet")).not.toEqual([]);
    const all = timeOf("/");
    expect((await cells("AlexNet")).slice(0, 2)).toEqual([
      formatDuration(timeOf("/AlexNet/")),
      formatShare(timeOf("/AlexNet/") / all),
    ]);
    const loss = table.filter((row) => row["module"] === "CrossEntropyLoss" && row["opName"] === "aclnnNLLLoss");
    const [time, calls] = ["totalKernelDuration(ns)", "opCount"].map((name) =>
      loss.reduce((sum, row) => sum + Number(row[name]), 0),
    ) as [number, number];
    await expect
      .poll(() => cells("aclnnNLLLoss"))
      .toEqual([
        formatDuration(time),
        formatShare(time / all),
        String(calls),
        formatDuration(time / calls),
        expect.stringMatching(/^[0-7]$/),
      ]);

    // By keys: down to the operator, whose kernels are opened.
    const before = Number(await tree.getAttribute("data-rows"));
    const operator = tree.getByRole("row").filter({ has: page.getByText("aclnnNLLLoss", { exact: true }) });
    await operator.locator(".twig").click();
    await expect.poll(() => tree.getAttribute("data-rows")).toBe(String(before + 2));
    await opened.shot("modules");
    expect(await faintTexts(page)).toEqual([]);
    expect(await axeFinds(page)).toEqual([]);

    await page.locator("main select").selectOption("3");
    await expect.poll(() => cells("AlexNet")).toContain(formatDuration(timeOf("/AlexNet/", 3)));
    await tree.getByText("AlexNet", { exact: true }).click();
    await expect.poll(() => page.getByTestId("details").innerText()).toMatch(/AlexNet[^]*Rank 3 /);
    // What was opened is open still. By tabs: choices within 200 ms, which a person does not make, are one step of Back.
    await page.locator("header nav").getByRole("button", { name: "Operators" }).click();
    await page.locator(".subviews").getByRole("button", { name: "Modules" }).click();
    await tree.getByText("aclnnNLLLoss_NLLLossAiCore_NLLLoss", { exact: true }).click();
    await expect
      .poll(() => page.getByTestId("details").innerText())
      .toMatch(/aclnnNLLLoss_NLLLossAiCore_NLLLoss[^]*Rank 3 /);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
