import { expect, it } from "vitest";

import type { SessionMessage, TraceMessage } from "../../api/messages";
import { resultOf } from "./result";

const trace = (path: string, state: string, begin: number, end: number) =>
  ({ path, state, begin, end }) as TraceMessage;
const session = (...traces: TraceMessage[]) => ({ traces }) as unknown as SessionMessage;

it("waits until all that recorded is ready, and leaves out what was there before", () => {
  const before = trace("/a", "ready", 0, 100);
  const paths = ["/b", "/c"];
  expect(resultOf(session(before), paths)).toBeNull();
  expect(
    resultOf(session(before, trace("/b", "ready", 200, 300), trace("/c", "recording", 210, 290)), paths),
  ).toBeNull();
  expect(resultOf(session(before, trace("/b", "ready", 200, 300), trace("/c", "ready", 210, 320)), paths)).toEqual({
    begin: 200,
    end: 320,
  });
  expect(resultOf(session(before), [])).toBeNull();
  expect(resultOf(session(trace("/b", "ready", 5, 5)), ["/b"])).toBeNull();
});
