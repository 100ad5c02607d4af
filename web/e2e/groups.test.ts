/** Groups and the parallel layout, links and experts of a job whose truth was planted: eight ranks, two stages. */
import { join } from "node:path";

import { expect, it } from "vitest";

import { formatCount, formatDuration } from "../src/base/format";
import { axeFinds, faintTexts, walkByTab } from "./access";
import { clusterTable } from "./cluster";
import { makeJob } from "./job";
import { type Opened, open, sharedData } from "./page";

const data = sharedData();
const folder = join(data, "ascend_pt/synth8_tp_pp_dp");

async function checkAccess(opened: Opened, name: string) {
  await opened.settle();
  await opened.shot(name);
  expect(await faintTexts(opened.page)).toEqual([]);
  expect(await axeFinds(opened.page)).toEqual([]);
}

it.skipIf(data === "")("shows which ranks work together, and how far they lie apart", async () => {
  const groups = clusterTable("communication_group_map", folder, "CommunicationGroupMapping");
  const times = clusterTable("cluster_time_summary", folder, "ClusterTimeSummary");
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=groups");
    const layout = page.getByTestId("parallel");
    await layout.waitFor({ timeout: 30_000 });
    expect((await layout.innerText()).split(/\s+/).join(" ")).toBe("Stage 0 0 1 2 3 Stage 1 4 5 6 7");
    const grid = page.getByTestId("groups");
    await expect.poll(() => grid.getAttribute("data-rows")).toBe(String(groups.length));
    // Each group with the least and the most that its ranks compute.
    const computing = new Map(times.map((row) => [row["rank"], Number(row["computation"]) * 1000]));
    const rowOf = async (ranks: string, kind: string) =>
      (await grid.locator(".grid-row").allInnerTexts())
        .map((text) => text.split("\n"))
        .find((cells) => cells[0] === kind && cells[1] === ranks);
    for (const row of groups) {
      const ranks = String(row["rank_set"]).replace(/[()]/g, "").split(",").map(Number);
      const own = ranks.map((rank) => computing.get(rank)!);
      const [least, most] = [Math.min(...own), Math.max(...own)];
      await expect
        .poll(async () => (await rowOf(ranks.join(" "), String(row["pg_name"])))?.slice(2, 8))
        .toEqual([
          String(ranks.length),
          formatDuration(most - least),
          formatDuration(least),
          String(ranks[own.indexOf(least)]),
          formatDuration(most),
          String(ranks[own.indexOf(most)]),
        ]);
    }
    await checkAccess(opened, "groups");
    // A group leads to its operations.
    await grid
      .locator(".grid-row")
      .filter({ has: page.getByText("4 5 6 7", { exact: true }) })
      .first()
      .click();
    await page.getByTestId("communication-table").waitFor();
    await expect.poll(() => page.getByLabel("Filter rows").inputValue()).toMatch(/^group_name="10\.0\.0\.2%eth0/);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});

it.skipIf(data === "")("shows links by bandwidth, and the transmissions that differ", async () => {
  const matrix = clusterTable("communication_matrix_sum", folder, "ClusterCommunicationMatrix");
  const slow = clusterTable("slow_link", folder, "SlowLinkSum");
  const own = matrix.filter(
    (row) => String(row["hccl_op_name"]).endsWith("-total") && row["src_rank"] === 3 && row["dst_rank"] === 4,
  );
  const sum = (name: string) => own.reduce((total, row) => total + Number(row[name]), 0);
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=links");
    await page.getByTestId("links-map").waitFor({ timeout: 30_000 });
    await expect.poll(() => page.getByTestId("sentences").innerText()).toContain("from rank 3 to rank 4: 3.20 GB/s");
    await page.getByRole("button", { name: "RDMA", exact: true }).click();
    await opened.pointAt("links-map", 3, 4);
    const tip = page.locator(".cell-map .tip");
    await expect.poll(() => tip.innerText()).toContain("Rank 3 → Rank 4 · RDMA");
    // Megabytes in milliseconds are gigabytes in seconds.
    const text = `${(sum("transit_size") / sum("transit_time")).toFixed(2)} GB/s`;
    await expect.poll(() => tip.locator("dd").allInnerTexts()).toEqual([text, "7.63 MiB", formatDuration(sum("transit_time") * 1e6), "-50.0 %"]); // prettier-ignore
    await checkAccess(opened, "links");
    await page.mouse.click(...(await opened.pointAt("links-map", 3, 4)));
    await expect.poll(() => page.getByTestId("links").getAttribute("data-rows")).toBe("1");
    // A transmission that differs leads to its operations, these to the timeline.
    await page.getByRole("button", { name: "Transmissions of which one differs" }).click();
    const sums = page.getByTestId("links-sum");
    await expect.poll(() => sums.getAttribute("data-rows")).toBe(String(slow.length));
    await expect.poll(() => sums.innerText()).toContain(formatDuration(Number(slow[0]!["MaxNs"])));
    await sums.locator(".grid-row").first().click();
    await page.getByTestId("links-operations").locator(".grid-row").first().click();
    await expect.poll(() => page.getByTestId("details").innerText()).toContain("hcom_allGather__");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});

it.skipIf(data === "")("shows the tokens of the experts of each rank", async () => {
  const tokens = clusterTable("ep_load_balance", folder, "EPTokensSummary");
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.read();
    await opened.go("view=experts&theme=dark&lang=zh");
    await page.getByTestId("experts-map").waitFor({ timeout: 30_000 });
    await checkAccess(opened, "experts-dark-zh");
    await opened.go("view=experts");
    await page.getByTestId("experts-map").waitFor({ timeout: 30_000 });
    for (const [row, column, rank] of [
      [0, 0, 0],
      [0, 3, 3],
      [1, 1, 5],
    ] as const) {
      await opened.pointAt("experts-map", row, column);
      const tip = page.locator(".cell-map .tip");
      await expect.poll(() => tip.locator("b").innerText()).toBe(`Rank ${rank}`);
      const wanted = tokens.find((candidate) => candidate["rank"] === rank)!["inputShapesSummary"];
      await expect.poll(() => tip.locator("dd").first().innerText()).toBe(formatCount(Number(wanted)));
    }
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});

it("states what is missing and how it is recorded, and shows groups of 64 ranks", async () => {
  const job = makeJob({ ranks: 64, steps: 1, computing: (rank) => 400 + rank });
  const opened = await open(job.folder);
  try {
    const { page } = opened;
    await opened.read();
    for (const [view, help] of [
      ["modules", "--profile-with-modules"],
      ["pipeline", "sonde.mstx"],
      ["experts", "--profile-level level1"],
    ]) {
      await opened.go(`view=${view}`);
      await expect.poll(() => page.locator(".empty").innerText()).toContain(help!);
    }
    await opened.go("view=groups");
    await expect.poll(() => page.getByTestId("parallel").getByRole("button").count()).toBe(64);
    await expect.poll(() => page.getByTestId("groups").innerText()).toContain(formatDuration(63_000));
    expect(await walkByTab(page)).toEqual([]);
    // To a rank in the timeline.
    await page.getByTestId("parallel").getByRole("button", { name: "63", exact: true }).click();
    await page.getByTestId("timeline").waitFor();
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    job.remove();
  }
});
