/** Draws the page on the demo's recording, light and dark, for the README: `make picture`.
 *
 *  node picture.mjs SONDE TRACES FOLDER   writes FOLDER/page-light.png and FOLDER/page-dark.png
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { chromium } from "playwright-core";

const [sonde, traces, folder] = process.argv.slice(2);
const SIZE = { width: 1440, height: 810 };

const server = spawn(sonde, ["view", traces], { stdio: ["ignore", "pipe", "inherit"] });
const [printed] = await once(server.stdout, "data");
const address = printed.toString().split("\n")[0];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: SIZE, locale: "en-US", colorScheme });
    await page.goto(address);
    await page.getByTestId("timeline").waitFor();
    await page.waitForLoadState("networkidle");
    await page.waitForTimeout(1500); // the last tiles are drawn
    // Machines that draw pictures rarely have the letters for it.
    await page.getByRole("button", { name: "中文" }).evaluate((button) => (button.style.visibility = "hidden"));
    await page.screenshot({ path: join(folder, `page-${colorScheme}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  server.kill("SIGTERM");
}
