/** For tests of components: what stands around them, and a server whose answers are given by address. */
import { QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { vi } from "vitest";

import type { SessionMessage, TraceMessage } from "../api/messages";
import { translator } from "../i18n";
import { themes } from "../theme/themes";
import { Actions } from "./actions";
import { AppContext } from "./context";
import { type State, Store, startPlace, startState } from "./state";
import { newQueryClient } from "./useTable";

export const traceOf = (id: number, more: Partial<TraceMessage> = {}): TraceMessage => ({
  id,
  path: `/job/rank${id}.json`,
  name: `rank${id}.json`,
  format: "a trace",
  run: 0,
  rank: id,
  host: "",
  state: "ready",
  version: 1,
  message: "",
  size_bytes: 0,
  begin: 0,
  end: 1000,
  slices: 3,
  empty: false,
  tables: [],
  issues: 0,
  processes: [],
  tracks: [],
  ...more,
});

export const sessionOf = (traces: TraceMessage[], more: Partial<SessionMessage> = {}): SessionMessage => ({
  version: "",
  revision: 0,
  base: "0",
  loading: false,
  live: false,
  roots: ["/job"],
  notes: [],
  ignored: [],
  maps: [],
  traces,
  ...more,
});

export const storeOf = (session: SessionMessage, more: Partial<State> = {}) =>
  new Store({ ...startState({ ...startPlace, detail: {} }), session, ...more });

export function show(store: Store, children: ReactNode) {
  const app = { store, actions: new Actions(store), t: translator("en"), theme: themes.light };
  return { ...app, ...render(inside(app, children)) };
}

const inside = (app: Parameters<typeof AppContext.Provider>[0]["value"], children: ReactNode) => (
  <QueryClientProvider client={newQueryClient()}>
    <AppContext.Provider value={app}>{children}</AppContext.Provider>
  </QueryClientProvider>
);

/** Answers by the begin of the address; what was asked for is in `asked`. */
export function serve(answers: Record<string, (address: URL, body: string) => unknown>) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (target: string, init: RequestInit = {}) => {
    asked.push(target);
    const found = Object.entries(answers).find(([path]) => target.startsWith(path));
    if (!found) return Promise.resolve({ ok: false, status: 404, statusText: "not there", text: async () => "" });
    const answer = found[1](new URL(target, "http://page"), String(init.body ?? ""));
    return Promise.resolve({ ok: true, json: async () => answer });
  });
  return asked;
}
