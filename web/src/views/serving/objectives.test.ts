import { expect, it } from "vitest";

import { missedBy, missedStatement } from "./objectives";

it("reads objectives as the command does", () => {
  expect(missedBy("ttft=500ms,itl=50ms,e2e=2s")).toBe(
    "(w.ttft_ns > 500000000 OR w.longest_pause_ns > 50000000 OR w.client_ns > 2000000000)",
  );
  expect(missedBy(" e2e = 1.5s ")).toBe("(w.client_ns > 1500000000)");
});

it("takes nothing else", () => {
  for (const text of ["", "ttft", "ttft=5", "tpot=5ms", "e2e=0s", "e2e=-1s", "e2e=1s,", "e2e=1s) OR (1=1", "e2e=9e99s"])
    expect(missedBy(text), text).toBeNull();
});

it("counts by reason, in the user's language", () => {
  expect(missedStatement("(w.client_ns > 5)", "en")).toContain("label AS label");
  expect(missedStatement("(w.client_ns > 5)", "zh")).toContain("label_zh AS label");
});
