/** The recording of a real server, which test/one_rank/requests.py makes and hands over: its folder in
 * SONDE_SERVED, and in SONDE_SERVED_FACTS the results of SQL on it. Without them there is nothing to show. */
import { expect, it } from "vitest";

import { formatDuration } from "../src/base/format";
import { open } from "./page";

const folder = process.env["SONDE_SERVED"] ?? "";

interface Facts {
  requests: number;
  tokens: number;
  /** The median, in nanoseconds. */
  ttft: number;
  steps: number;
  operators: number;
}

it.skipIf(!folder)("shows what a real server did, from a request to the operators of a step", async () => {
  const expected = JSON.parse(process.env["SONDE_SERVED_FACTS"]!) as Facts;
  const opened = await open(folder);
  try {
    const { page } = opened;
    await opened.go("view=serving");
    const facts = page.getByTestId("serving-facts");
    await expect.poll(() => facts.innerText()).toContain(formatDuration(expected.ttft));
    await expect.poll(() => page.getByTestId("waterfall").getAttribute("data-rows")).toBe(String(expected.requests));
    const request = page.locator("[data-request='0']");
    // A line for each token given out, and four parts of its time.
    await expect.poll(() => request.locator("line").count()).toBe(expected.tokens);
    await expect.poll(() => request.locator("rect").count()).toBe(5);
    await opened.settle();
    await opened.shot("served");
    await request.click();
    const chips = page.getByTestId("request-steps").getByRole("button");
    await expect.poll(() => chips.count()).toBe(expected.steps);
    await expect.poll(() => chips.first().innerText()).toContain("Prefill");
    await expect.poll(() => chips.last().innerText()).toContain("Decode");
    await chips.nth(1).click();
    await page.getByTestId("step-ranks").getByRole("button").first().waitFor();
    await expect
      .poll(() => page.getByTestId("step-operators").getAttribute("data-rows"))
      .toBe(String(expected.operators));
    await opened.settle();
    await opened.shot("served-request");
    // From the step of a rank to the timeline.
    await page.getByTestId("step-ranks").getByRole("button").first().click();
    await page.getByTestId("timeline").waitFor();
    await expect.poll(() => page.getByTestId("details").innerText()).toContain("ProfilerStep#");
    await opened.settle();
    await opened.shot("served-step");
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
