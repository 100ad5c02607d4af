/** The serving view, with a server's tables as they come from the store. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { open } from "./page";

type Row = (string | number | null)[];

const MS = 1e6;

/** 40 requests that arrive every 5 ms, each of 1 prefill and 8 decode steps of 10 ms. */
function tables(zero: number): [RegExp, string, Row[]][] {
  const requests: Row[] = [];
  const tokens: Row[] = [];
  const steps: Row[] = [];
  for (let id = 0; id < 40; ++id) {
    const ts = zero + id * 5 * MS;
    const first = ts + 30 * MS;
    const last = first + 70 * MS;
    requests.push([
      id,
      `cmpl-${id}`,
      0,
      0,
      ts,
      105 * MS,
      ts + 4 * MS,
      ts + 10 * MS,
      first,
      last,
      30 * MS,
      10 * MS,
      12,
      0,
      8,
      id % 9 ? 0 : 1,
      "length",
      id === 3 ? "order <b>66</b>" : null,
      null,
    ]);
    for (let i = 0; i < 8; ++i) tokens.push([id, first + i * 10 * MS]);
  }
  for (let i = 0; i < 30; ++i)
    steps.push([i, 0, 0, zero + i * 10 * MS, 9 * MS, i % 3, 12, 4, 4, 5, i % 4, i / 60, 4, 0]);
  const requestNames =
    "request_id name engine slice_id ts dur queued_ts scheduled_ts first_token_ts last_token_ts ttft_ns tpot_ns prompt_tokens cached_tokens output_tokens preemptions finish_reason x_request_id traceparent";
  return [
    [/count\(\*\) FROM request$/, "count", [[40]]],
    [/request_id, name, engine.*FROM request LEFT JOIN/, requestNames, requests],
    [/FROM request_step WHERE output_tokens/, "request_id at", tokens],
    [
      /FROM engine_step ORDER BY ts/,
      "step_id engine slice_id ts dur prefill_requests prefill_tokens decode_requests decode_tokens running_requests waiting_requests kv_cache_usage output_tokens preempted_requests",
      steps,
    ],
    [
      /FROM request_step p JOIN engine_step/,
      "slice_id step_id phase tokens",
      [
        [0, 3, "prefill", 12],
        [0, 4, "decode", 1],
      ],
    ],
    [/o\.phase = 'prefill'/, "request_id name dur tokens", [[7, "cmpl-7", 9 * MS, 12]]],
    [
      /FROM step s LEFT JOIN slice/,
      "rank slice_id ts dur operators",
      [
        [0, 0, 0, 9 * MS, 5],
        [1, 0, 0, 8 * MS, 5],
      ],
    ],
    [/FROM step t JOIN device_task/, "rank slice_id name dur", [[0, 0, "aten::mm", 2 * MS]]],
    [/FROM request r LEFT JOIN request_time/, "slice_id name why", requests.map((row) => [0, row[1]!, "as usual"])],
    [/any_value\(p\.label\) AS reason/, "reason missed whole", [["event loop", 3, 40]]],
    [/FROM engine_step_part WHERE/, "label", [["The slowest decode step (7) took 30.00 ms"]]],
    [/FROM engine_step_part p/, "slice_id kind_name part median_ns", [[0, "decode", "forward", 9 * MS]]],
    [/FROM loop_pause/, "ts dur", [[zero + 20 * MS, 50 * MS]]],
    [
      /FROM request_path WHERE dur_ns/,
      "request_id part label ts dur",
      [[3, "event_loop", "event loop", zero + 20 * MS, 30 * MS]],
    ],
    [/FROM request_path WHERE request_id/, "part dur", [["event loop", 30 * MS]]],
  ];
}

it("leads from the requests to the operators of a step", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-serving-"));
  const events = [{ ph: "X", name: "work", pid: 1, tid: 2, ts: 1, dur: 300_000 }];
  writeFileSync(join(folder, "trace.json"), JSON.stringify({ traceEvents: events }));
  const opened = await open(folder);
  try {
    const { page } = opened;
    const answers = tables(1000);
    await page.route("**/api/schema*", (route) =>
      route.fulfill({ json: [{ name: "request", meaning: "", columns: [] }] }),
    );
    await page.route("**/api/sql*", (route) => {
      const sql = route.request().postData() ?? "";
      const [, names, rows] = answers.find(([pattern]) => pattern.test(sql)) ?? [null, "none", []];
      const columns = names
        .split(" ")
        .map((name) => ({ name, type: /name|phase|reason|why|part|label/.test(name) ? "text" : "integer" }));
      return route.fulfill({ json: { columns, rows, complete: true, elapsed: 1 } });
    });
    await opened.go("view=serving");
    const facts = page.getByTestId("serving-facts");
    await facts.waitFor();
    await expect.poll(() => facts.innerText()).toContain("30.00 ms · 30.00 ms");
    await expect.poll(() => page.getByTestId("waterfall").getAttribute("data-rows")).toBe("40");
    await page.getByTestId("serving-load").waitFor();
    await opened.shot("serving");
    await page.getByRole("button", { name: /ITL/ }).click();
    await expect.poll(() => facts.innerText()).toContain("10.00 ms · 10.00 ms");
    await page.getByTestId("loop-pause").waitFor();
    await expect.poll(() => page.locator("[data-request='3'] path").getAttribute("data-part")).toBe("event_loop");
    await page.getByTestId("serving-requests").getByText("as usual").first().waitFor();
    await page.getByRole("textbox", { name: "Objectives" }).fill("ttft=10");
    await page.getByTestId("serving-objectives-bad").waitFor();
    await page.getByRole("textbox", { name: "Objectives" }).fill("ttft=10ms");
    await expect
      .poll(() => page.getByTestId("serving-missed").innerText())
      .toBe("3 of 40 requests miss them: event loop 3");
    await page.getByTestId("serving-list-steps").click();
    await page.getByTestId("step-sentence").getByText("The slowest decode step").waitFor();
    await page.getByTestId("step-parts").getByText("forward").waitFor();
    // P99 of the chosen measure, throughput and queue over the time of the session.
    await page.getByTestId("serving-list-time").click();
    for (const name of ["p99", "rate", "queue"]) {
      await page.getByTestId(`serving-time-${name}`).locator("canvas").waitFor();
    }
    await expect.poll(() => page.getByTestId("serving-over-time").innerText()).toContain("ITL P99");
    await opened.settle();
    await opened.shot("serving-over-time");
    await page.getByTestId("serving-list-requests").click();
    await page.getByTestId("serving-p99").click();
    await page.getByTestId("request-path").getByText("event loop").waitFor();
    await page.locator("[data-request='3']").click();
    await expect.poll(() => page.getByTestId("request-others").innerText()).toContain("cmpl-7 · 9.000 ms");
    // Text of a client is text.
    await expect.poll(() => page.getByTestId("x-request-id").innerText()).toBe("x-request-id order <b>66</b>");
    await page.getByTestId("request-steps").getByRole("button").nth(1).click();
    await page.getByTestId("step-ranks").waitFor();
    await expect.poll(() => page.getByTestId("step-ranks").innerText()).toMatch(/Engine step 4[^]*Rank 0[^]*Rank 1/);
    await page.getByTestId("step-operators").getByText("aten::mm").waitFor();
    await opened.shot("serving-request");
    // All of it is in the address.
    await expect.poll(() => page.url()).toMatch(/x\.request=3/);
    await expect.poll(() => page.url()).toMatch(/x\.engine_step=4/);
    await page.getByTestId("waterfall").focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.url()).toMatch(/x\.request=4/);
    expect(opened.errors).toEqual([]);
  } finally {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
