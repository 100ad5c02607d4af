/** A lake and a finished result: the map of all ranks has the numbers of `sonde cluster`, comes closer by clicks, and
 * opens the trace of one rank, of which the timeline is drawn as of the recording itself. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { clusterTable } from "./cluster";
import { type Job, makeJob } from "./job";
import { type Opened, binary, open } from "./page";

const RANKS = 300;
const STEPS = 4;
const SLOW = 210;
let job: Job;
let place: string;

beforeAll(() => {
  job = makeJob({
    ranks: RANKS,
    steps: STEPS,
    computing: (rank, step) => 400 + ((rank * 7 + step * 3) % 11) + (rank === SLOW ? 200 : 0),
  });
  place = mkdtempSync(join(tmpdir(), "sonde-lake-"));
  const env = { ...process.env, XDG_CACHE_HOME: join(place, "cache") };
  const words = [
    ["lake", "add", job.folder, "--to", join(place, "lake"), "--run", "nightly"],
    ["cluster", "-m", "cluster_time_summary", "-d", job.folder, "-o", join(place, "result"), "--export_type", "db"],
  ];
  for (const command of words) execFileSync(binary, command, { env, stdio: "pipe" });
}, 180_000);

afterAll(() => {
  job.remove();
  rmSync(place, { recursive: true, force: true });
});

/** The text of a cell's tip. */
async function tip(opened: Opened, row: number, column: number): Promise<string> {
  await opened.page.mouse.move(0, 0);
  await opened.pointAt("ranks-map", row, column);
  return opened.page.locator(".cell-map .tip").innerText();
}

const click = async (opened: Opened, row: number, column: number) =>
  opened.page.mouse.click(...(await opened.pointAt("ranks-map", row, column)));

async function showMap(opened: Opened) {
  await opened.go();
  const map = opened.page.getByTestId("ranks-map");
  await map.waitFor({ timeout: 30_000 });
  // Two ranks a row.
  await expect.poll(() => map.getAttribute("aria-rowcount")).toBe(String(RANKS / 2));
  await expect.poll(() => map.getAttribute("aria-colcount")).toBe(String(STEPS));
  return map;
}

it("shows a lake, and the trace of a rank on demand", async () => {
  const rows = clusterTable("cluster_time_summary", job.folder, "ClusterTimeSummary");
  const computed = (rank: number, step: number) =>
    formatDuration(1000 * Number(rows.find((row) => row["rank"] === rank && row["step"] === step)!["computation"]));
  const opened = await open(join(place, "lake"));
  try {
    const { page } = opened;
    const map = await showMap(opened);
    expect(await page.getByTestId("map-state").innerText()).toContain(`nightly · ranks: ${RANKS} · steps: ${STEPS}`);
    // A row is the slower of its two ranks.
    await expect.poll(() => tip(opened, SLOW / 2, 1)).toContain(`Rank ${SLOW} · Step 1`);
    expect(await tip(opened, SLOW / 2, 1)).toContain(computed(SLOW, 1));
    for (const [theme, lang] of [
      ["light", "en"],
      ["dark", "zh"],
    ]) {
      await opened.go(`view=ranks&theme=${theme}&lang=${lang}`);
      await map.waitFor();
      await opened.settle();
      await opened.shot(`lake-${theme}`);
    }
    await opened.go();
    await map.waitFor();
    await page.getByRole("button", { name: "Largest first" }).click();
    await expect.poll(() => tip(opened, 0, 0)).toContain(`Rank ${SLOW} · Step 0`);
    await click(opened, 0, 0);
    await expect.poll(() => map.getAttribute("aria-rowcount")).toBe("32");
    await expect.poll(() => tip(opened, 0, 2)).toContain(`Rank ${SLOW} · Step 2`);
    await opened.shot("lake-closer");
    await click(opened, 0, 2);
    // The trace is made of the lake's rows.
    await expect
      .poll(() => page.getByTestId("details").innerText(), { timeout: 30_000 })
      .toMatch(new RegExp(`ProfilerStep#2[^]*Rank ${SLOW} `));
    await opened.settle();
    await opened.shot("lake-rank");
    const session = await page.request.get(`${opened.address}api/session`);
    const { traces } = (await session.json()) as { traces: { rank: number; state: string; slices: number }[] };
    expect(traces).toMatchObject([{ rank: SLOW, state: "ready", slices: STEPS * 6 }]);
    await opened.go("view=sql");
    await page.getByLabel("SQL").fill("SELECT count(DISTINCT rank) AS ranks, count(*) AS n FROM step_trace");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.getByTestId("sql-result").innerText()).toMatch(/300\s+1\D?200/);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
}, 180_000);

it("shows a finished result, and reads of its recordings what is asked for", async () => {
  const opened = await open(join(place, "result"), job.folder);
  try {
    const { page } = opened;
    await showMap(opened);
    await expect.poll(() => tip(opened, SLOW / 2, 3)).toContain(`Rank ${SLOW} · Step 3`);
    await page.getByRole("button", { name: "Waiting for others" }).click();
    await opened.settle();
    await opened.shot("result");
    await page.locator(".open-rank input").fill("17");
    await page.getByRole("button", { name: "Open rank" }).click();
    await page.getByTestId("timeline").waitFor({ timeout: 30_000 });
    const session = async () => (await page.request.get(`${opened.address}api/session`)).json();
    await expect.poll(session).toMatchObject({ traces: [{ rank: 17, state: "ready" }] });
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
}, 180_000);

it("says which recordings are missing beside a result alone", async () => {
  const opened = await open(join(place, "result"));
  try {
    const { page } = opened;
    await showMap(opened);
    await page.locator(".open-rank input").fill("17");
    await page.getByRole("button", { name: "Open rank" }).click();
    await expect.poll(() => page.getByRole("alert").innerText()).toContain("name the folder of the recordings");
  } finally {
    await opened.close();
  }
}, 180_000);
