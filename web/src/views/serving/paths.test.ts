import { expect, it } from "vitest";

import {
  partsStatement,
  requestAt,
  stepPartStatement,
  stepSentenceStatement,
  waitStatement,
  waitsOf,
  whyStatement,
} from "./paths";
import type { Request } from "./requests";

it("asks for reasons in the user's language", () => {
  expect(whyStatement("en")).toContain("w.reason AS why");
  expect(whyStatement("zh")).toContain("w.reason_zh AS why");
  expect(whyStatement("en")).toContain("w.is_slow, ");
  expect(whyStatement("en", "(w.client_ns > 5)")).toContain("CASE WHEN (w.client_ns > 5) THEN 1 ELSE 0 END AS is_slow");
  expect(stepPartStatement("zh")).toContain("ELSE label_zh END AS part");
  expect(stepSentenceStatement("zh")).toContain("SELECT label_zh");
  expect(waitStatement("42", "zh")).toContain("label_zh AS label, start_ns - 42 AS ts");
  expect(partsStatement(7, "en")).toContain("request_id = 7");
});

it("gathers the waits of each request", () => {
  const rows = [
    [3, "event_loop", "event loop", 10, 5],
    [4, "delivery", "delivery", 20, 2],
    [3, "delivery", "delivery", 15, 1],
  ];
  const waits = waitsOf({ columns: [], rows, complete: true, elapsed: 0 });
  expect(waits.get(3)?.map((wait) => wait.part)).toEqual(["event_loop", "delivery"]);
  expect(waits.get(4)).toHaveLength(1);
  expect(waitsOf(null).size).toBe(0);
});

it("finds the request at a share of all", () => {
  const requests = [5, 1, 9, 3].map((ttft, id) => ({ id, ttft }) as Request);
  const ttft = (request: Request) => request.ttft;
  expect(requestAt(requests, ttft, 0.99)).toBe(2);
  expect(requestAt(requests, ttft, 0)).toBe(1);
  expect(requestAt([], ttft, 0.99)).toBeNull();
});
