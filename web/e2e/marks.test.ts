/** Moments that are no slices: drawn, found, described, and led to by a link and a table. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

it("shows marks on their lane, with what is known of them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-marks-"));
  const on = { pid: 1, tid: 2 };
  const events = [
    { ph: "X", name: "loop", ...on, ts: 0, dur: 1000 },
    ...[100, 400, 700].map((ts, n) => ({ ph: "i", s: "t", name: "epoch ends", ...on, ts, args: { epoch: n } })),
    { ph: "i", s: "t", name: "saved", pid: 1, tid: 3, ts: 500 },
  ];
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  const opened = await open(folder);
  try {
    const { page } = opened;
    const fact = async (name: string) =>
      (
        await page
          .getByTestId("details")
          .locator("div", { hasText: new RegExp(`^${name}`) })
          .last()
          .innerText()
      )
        .slice(name.length)
        .trim();
    await opened.go();
    await page.getByTestId("timeline").waitFor();
    await opened.settle();
    // A lane of the thread that only has a mark; the mark is under the pointer where it is drawn.
    const box = (await page.getByTestId("timeline").boundingBox())!;
    const plot = { left: box.x + 230, width: box.width - 230 };
    await page.keyboard.press("/");
    await page.keyboard.type("saved");
    await page.locator("#search").press("Enter");
    await page.getByTestId("hits").locator(".grid-row").first().click();
    await expect.poll(() => page.url()).toContain("slice=0%3A-4");
    const y = Number(await page.getByTestId("timeline").getAttribute("data-selected-y"));
    await page.keyboard.press("Escape");
    await page.mouse.click(plot.left + plot.width / 2 + 3, box.y + y);
    await page.getByRole("tab", { name: "Selection" }).click();
    await page.getByTestId("times").waitFor();
    await expect.poll(() => fact("Name")).toBe("saved");
    // From one to the next of its name, with its arguments and what it lies in.
    await opened.go("slice=0:-2&drawer=1");
    await page.getByTestId("times").waitFor();
    await expect.poll(() => fact("epoch")).toBe("0");
    await page.getByTestId("timeline").focus();
    await page.keyboard.press("n");
    await expect.poll(() => fact("epoch")).toBe("1");
    await expect.poll(() => page.getByTestId("details").innerText()).toContain("loop");
    await opened.shot("marks-of-trace");
    await opened.go("view=tables&x.table=marks");
    await page.getByTestId("table").locator(".grid-row").nth(3).click();
    await page.getByTestId("times").waitFor();
    await expect.poll(() => fact("epoch")).toBe("2");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
