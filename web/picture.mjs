/** Draws every view of the page, light and dark, for the documents: `make picture`.
 *
 *  node picture.mjs SONDE PYTHON ROOT FOLDER [VIEW...]   writes FOLDER/<view>-light.png and <view>-dark.png
 *
 *  ROOT has what `make demo` and `make demo-gallery` recorded, and a simulated job in demo-gallery/job. PYTHON has torch.
 *  VIEW: only these.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { chromium } from "playwright-core";

const [sonde, python, root, folder, ...only] = process.argv.slice(2);
const SIZE = { width: 1280, height: 720 };
const LIVE = "http://127.0.0.1:29417";

const STATEMENT =
  "SELECT rank, name, count(*) AS calls, sum(dur) AS ns FROM device_task GROUP BY ALL ORDER BY ns DESC LIMIT 12";

const demo = ["demo"];
const job = ["demo-gallery/job"];
const server = ["demo-gallery/server"];

/** name: what `sonde view` is given, the address behind '#', what must be there, and what is done before
 *  (by the command) and there (by the mouse). */
const SCENES = {
  timeline: { open: demo, ready: "[data-testid=timeline]" },
  summary: { open: demo },
  advice: { open: ["demo-gallery/memory"] },
  compare: {
    open: ["demo-gallery/new", "--baseline", "demo-gallery/old"],
    hash: "x.compare.baseline=demo-gallery/old",
    ready: "[data-testid=compare-causes]",
  },
  operators: { open: demo },
  modules: { open: demo },
  memory: { open: ["demo-gallery/memory"] },
  communication: { open: demo },
  ranks: { open: ["demo-gallery/slow-rank"] },
  groups: { open: job },
  links: { open: demo },
  pipeline: { open: ["demo-gallery/pipeline"] },
  experts: { open: job },
  values: {
    open: ["demo-gallery/values"],
    before: "probe compare -tp demo-gallery/target -gp demo-gallery/golden -o demo-gallery/values --store".split(" "),
    ready: "[data-testid=values] .grid-row",
    act: (page) => page.locator("[data-testid=values] .grid-row.begin").click(),
  },
  serving: { open: server },
  tables: { open: demo },
  sql: {
    open: demo,
    hash: `x.rank=-1&x.ran=1&x.sql=${encodeURIComponent(STATEMENT)}`,
  },
  live: {
    open: ["--live", LIVE],
    program: [
      "run",
      "--control",
      LIVE,
      "--quiet",
      "--",
      python,
      join(resolve(root), "examples/train_tiny_gpt.py"),
      "--steps",
      "100000",
    ],
    act: (page) =>
      page
        .getByRole("button", { name: /Start recording/ })
        .first()
        .click(),
  },
};

/** Ends a process of ours and waits for it. */
async function end(child) {
  child.kill("SIGTERM");
  if (child.exitCode === null) await once(child, "exit");
}

/** Waits until the page has not changed for a second. */
async function settle(page) {
  await page.waitForLoadState("domcontentloaded");
  await page.getByText("Looking at all ranks").waitFor({ state: "detached", timeout: 60_000 });
  let before = "";
  for (let still = 0, i = 0; still < 10 && i < 80; ++i) {
    await page.waitForTimeout(250);
    const now = await page.evaluate(() => document.body.innerHTML);
    still = now === before ? still + 1 : 0;
    before = now;
  }
}

async function draw(browser, address, name, scene) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: SIZE, locale: "en-US", colorScheme });
    await page.goto(`${address.split("#")[0]}#view=${name}${scene.hash ? `&${scene.hash}` : ""}`);
    await page.locator("nav [aria-current=page]").waitFor();
    await page.locator("header .loading").waitFor({ state: "detached", timeout: 60_000 });
    if (scene.ready) await page.locator(scene.ready).first().waitFor({ timeout: 60_000 });
    await settle(page);
    if (scene.act && !(scene.program && colorScheme === "dark")) await scene.act(page);
    await settle(page);
    // Machines that draw pictures rarely have the letters for it.
    await page.getByRole("button", { name: "中文" }).evaluate((button) => (button.style.visibility = "hidden"));
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    await page.close();
  }
}

const recordings = mkdtempSync(join(tmpdir(), "recordings-")); // of the live view, which names the folder
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (const [name, scene] of Object.entries(SCENES)) {
    if (only.length > 0 && !only.includes(name)) continue;
    if (scene.before) spawnSync(sonde, scene.before, { cwd: root, stdio: "ignore" });
    const program = scene.program ? spawn(sonde, scene.program, { cwd: recordings, stdio: "ignore" }) : null;
    const viewer = spawn(sonde, ["view", ...scene.open], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [printed] = await once(viewer.stdout, "data");
      await draw(browser, printed.toString().split("\n")[0], name, scene);
      console.log(`drawn: ${name}`);
    } finally {
      await end(viewer);
      if (program) await end(program);
    }
  }
} finally {
  await browser.close();
  rmSync(recordings, { recursive: true, force: true });
}
