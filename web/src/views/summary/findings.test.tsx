// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import { serve, sessionOf, show, storeOf, traceOf } from "../../app/testing";
import { Findings } from "./Findings";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const finding = (trace: number, text: string, more = {}) => ({
  trace,
  rank: trace,
  rule: "coverage",
  severity: "warning",
  confidence: 1,
  subject: "",
  value: 0,
  unit: "%",
  limit: 99,
  text,
  evidence: "SELECT * FROM coverage",
  ...more,
});

it("shows once what holds for many traces, with whom, and shows its rows", async () => {
  const many = [0, 1, 2, 3, 4, 5].map((trace) => finding(trace, "links are missing"));
  const list = [...many, finding(1, "half is missing"), finding(2, "a line", { rule: "import_issue" })];
  serve({ "/api/findings": () => list });
  const store = storeOf(sessionOf([0, 1, 2, 3, 4, 5].map((id) => traceOf(id))));
  show(store, <Findings />);
  await waitFor(() => screen.getByTestId("findings"));
  expect([...document.querySelectorAll("li")].map((line) => line.firstChild!.textContent)).toEqual([
    "Rank 0 and 5 more: ",
    "Rank 1: ",
  ]);
  fireEvent.click(screen.getAllByRole("button")[0]!);
  expect(store.get()).toMatchObject({ view: "sql", detail: { sql: "SELECT * FROM coverage", rank: "-1" } });
  fireEvent.click(screen.getAllByRole("button")[1]!);
  expect(store.get().detail["rank"]).toBe("1");
});

it("reports why there are none", async () => {
  serve({});
  show(storeOf(sessionOf([traceOf(0)])), <Findings />);
  expect((await screen.findByRole("alert")).textContent).toContain("404");
});
