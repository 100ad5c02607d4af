import { expect, it } from "vitest";

import { histogram, interTokenTimes, percentile, requestStatement, requestsOf, tokenRate } from "./requests";

const names =
  "request_id name engine slice_id ts dur queued_ts scheduled_ts first_token_ts last_token_ts ttft_ns tpot_ns prompt_tokens cached_tokens output_tokens preemptions finish_reason x_request_id traceparent";
const table = (columns: string, rows: (string | number | null)[][]) => ({
  columns: columns.split(" ").map((name) => ({ name, type: "integer" })),
  rows,
  complete: true,
  elapsed: 0,
});
const requests = requestsOf(
  table(names, [
    [0, "a", 0, 7, 1000, 900, 1050, 1100, 1300, 1700, 300, 200, 5, 0, 3, 0, "stop", "order 66", "00-a-b-01"],
    [1, "b", 0, null, 1500, -1, null, null, null, null, null, null, null, null, 0, 1, null, null, null],
  ]),
  table("request_id at", [
    [0, 1300],
    [0, 1450],
    [0, 1700],
  ]),
);

it("reads requests, those that have not ended too", () => {
  expect(requests[0]).toMatchObject({
    id: 0,
    end: 1900,
    ended: true,
    queued: 1050,
    ttft: 300,
    tokens: [1300, 1450, 1700],
    clientId: "order 66",
    traceparent: "00-a-b-01",
  });
  expect(requests[1]).toMatchObject({ clientId: "", traceparent: "" });
  expect(requests[1]).toMatchObject({ end: 1500, ended: false, first: null, reason: "", preemptions: 1, slice: null });
  expect(requestStatement("42")).toContain("ts - 42 AS ts");
});

it("begins a request whose arrival was not recorded with the first that is known of it", () => {
  const [late] = requestsOf(
    table("request_id name ts dur last_token_ts", [[7, "late", 900, -1, 900]]),
    table("request_id at", [
      [7, 100],
      [7, 500],
      [7, 900],
    ]),
  );
  expect(late).toMatchObject({ ts: 100, end: 900, ended: false });
});

it("counts what users of a server look at", () => {
  expect(interTokenTimes(requests)).toEqual([150, 250]);
  expect(percentile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(percentile([], 0.5)).toBeNaN();
  expect(tokenRate(requests)).toBeCloseTo((3 / 900) * 1e9);
  expect(histogram([0, 1, 9, 10], 2)).toEqual([
    [2.5, 2],
    [7.5, 2],
  ]);
  expect(histogram([6, 6], 3)).toEqual([
    [2, 0],
    [6, 2],
    [10, 0],
  ]);
  expect(histogram([0], 1)).toEqual([[0, 1]]);
});
