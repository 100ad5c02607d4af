import { expect, it } from "vitest";

import type { SessionMessage, TraceMessage } from "../api/messages";
import { traceOf } from "./testing";
import { hasNoTrace, isFull } from "./traces";
import { type View, hasTab, shownView } from "./view";

const sessionOf = (...traces: TraceMessage[]) => ({ traces }) as unknown as SessionMessage;
const view = (name: string, more: Partial<View> = {}): View => ({ name, title: "view.sql", component: () => null, ...more }); // prettier-ignore
const views = [view("timeline"), view("values", { needsNoTrace: true }), view("sql", { needsNoTrace: true })];

const comparison = traceOf(0, { slices: 0, tables: ["precision_md5"] });
const nothing = traceOf(1, { slices: 0, empty: true });
const memory = traceOf(2, { slices: 0 }); // has rows, though none is drawn

it("takes a trace as empty that has no rows at all", () => {
  expect([comparison, nothing, memory].map(isFull)).toEqual([true, false, true]);
  expect(isFull(traceOf(3, { state: "failed" }))).toBe(false);
});

it("begins with a view that can show what is open", () => {
  expect(hasNoTrace(sessionOf(comparison, nothing))).toBe(true);
  expect(shownView(views, "timeline", sessionOf(comparison)).name).toBe("values");
  expect(shownView(views, "sql", sessionOf(comparison)).name).toBe("sql");
  expect(views.filter((one) => hasTab(one, sessionOf(comparison))).map(({ name }) => name)).toEqual(["values", "sql"]);
});

it("shows all views where a trace is open, too", () => {
  for (const session of [sessionOf(comparison, memory), sessionOf(nothing), sessionOf(), null]) {
    expect(shownView(views, "timeline", session).name).toBe("timeline");
  }
});
