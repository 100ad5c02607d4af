import { describe, expect, it } from "vitest";

import type { SessionMessage, TraceMessage, TrackMessage } from "../../api/messages";
import { translator } from "../../i18n";
import {
  buildRows,
  contentOf,
  heightOf,
  inOrder,
  labelsOf,
  laneStartsFolded,
  placeRows,
  shortCommand,
  siblingsOf,
  toggleFold,
  traceLabel,
  visibleRows,
} from "./lanes";

const t = translator("en");

function track(id: number, kind: string, slices = 5, depths = 2): TrackMessage {
  return {
    id,
    kind,
    name: `${kind} ${id}`,
    process: 0,
    thread: -1,
    device: -1,
    stream: -1,
    sort: id,
    depths: kind === "counter" ? 0 : depths,
    slices: kind === "counter" ? 0 : slices,
    marks: 0,
  };
}

function trace(id: number, rank: number, tracks: TrackMessage[]): TraceMessage {
  return {
    id,
    path: "",
    name: `t${id}`,
    format: "",
    run: 0,
    rank,
    host: "",
    state: "ready",
    version: 1,
    message: "",
    size_bytes: 0,
    begin: 0,
    end: 1,
    slices: 1,
    empty: false,
    tables: [],
    issues: 0,
    processes: [{ id: 0, pid: 1, name: "python", host: "" }],
    tracks,
  };
}

function session(...traces: TraceMessage[]): SessionMessage {
  return {
    version: "",
    revision: 1,
    base: "0",
    loading: false,
    live: false,
    roots: [],
    notes: [],
    ignored: [],
    maps: [],
    traces,
  };
}

const none = { folded: [], pinned: [], hidden: [] };

it("folds stacks of Python functions deeper than three at the start", () => {
  expect([3, 4].map((depths) => laneStartsFolded(track(1, "python", 5, depths)))).toEqual([false, true]);
  expect(laneStartsFolded(track(1, "thread", 5, 9))).toBe(false);
});

describe("rows", () => {
  it("that are folded show their busiest lane, of a device where there is one", () => {
    const lanes = [track(5, "thread", 900), track(2, "stream", 3), track(3, "stream", 40), track(7, "counter")];
    const preview = (folded: string[]) =>
      buildRows(session(trace(0, 0, lanes)), { ...none, folded }, t).map((row) => [row.key, row.preview]);
    expect(preview(["0"])).toEqual([["0", 3]]);
    expect(preview(["0/host"])).toContainEqual(["0/host", 5]);
    expect(preview([]).every(([, lane]) => lane === -1)).toBe(true);
  });
  it("come in the order of the ecosystem's viewer", () => {
    const rows = buildRows(
      session(
        trace(0, 0, [
          track(0, "counter"),
          track(1, "overlap"),
          track(2, "stream"),
          track(3, "communication_group"),
          track(4, "api"),
          track(5, "thread"),
        ]),
      ),
      none,
      t,
    );
    expect(rows.filter((r) => r.kind === "group").map((r) => r.label)).toEqual([
      "Host",
      "CANN and runtime",
      "Device",
      "Communication",
      "Overlap analysis",
      "Counters",
    ]);
    expect(heightOf(rows)).toBe(rows.reduce((sum, row) => sum + row.height, 0));
  });
  it("leave out what is empty or hidden, and sort ranks", () => {
    const rows = buildRows(
      session(trace(0, 1, [track(0, "thread"), track(1, "stream", 0)]), trace(1, 0, [track(0, "thread")])),
      { ...none, hidden: ["1:0"] },
      t,
    );
    expect(rows.filter((r) => r.kind === "trace").map((r) => r.trace)).toEqual([1, 0]);
    expect(rows.filter((r) => r.kind === "track").map((r) => r.key)).toEqual(["0:0"]);
  });
  it("show what is on them", () => {
    expect(contentOf({ ...track(0, "thread"), marks: 3 }, t)).toBe("5 slices · 3 marks");
    expect(contentOf(track(1, "counter"), t)).toBe("");
  });

  it("fold many counters at the start, and unfold them on wish", () => {
    const counters = Array.from({ length: 10 }, (_, i) => track(i, "counter"));
    const closed = buildRows(session(trace(0, 0, counters)), none, t);
    expect(closed.filter((r) => r.kind === "counter")).toHaveLength(0);
    const folded = toggleFold([], "0/counter", true);
    expect(folded).toEqual(["+0/counter"]);
    expect(
      buildRows(session(trace(0, 0, counters)), { ...none, folded }, t).filter((r) => r.kind === "counter"),
    ).toHaveLength(10);
    expect(toggleFold(folded, "0/counter", true)).toEqual([]);
  });
  it("show a folded track as thin lines, pinned ones on top", () => {
    const rows = buildRows(
      session(trace(0, 0, [track(0, "thread", 5, 9)])),
      { folded: ["0:0"], pinned: ["0:0"], hidden: [] },
      t,
    );
    expect(rows[0]!.label).toBe("Pinned");
    expect(rows[1]).toMatchObject({ pinned: true, depths: 8, height: 25 });
  });
  it("are found by place", () => {
    const rows = buildRows(session(trace(0, 0, [track(0, "thread"), track(1, "thread"), track(2, "thread")])), none, t);
    const third = rows[3]!;
    expect(visibleRows(rows, third.y, 1)).toEqual([third]);
    expect(visibleRows(rows, 0, 1e9)).toHaveLength(rows.length);
    expect(visibleRows(rows, 1e9, 10)).toEqual([]);
  });
});

it("shortens commands", () => {
  expect(shortCommand("/a/b/python3 -u train.py --x 1")).toBe("python3 train.py --x 1");
  expect(shortCommand("vllm")).toBe("vllm");
  expect(shortCommand("/v/bin/python3 /v/bin/vllm serve /models/a")).toBe("python3 vllm serve /models/a");
});

describe("lanes", () => {
  it("come in the order of the user, within their group", () => {
    const two = session(
      trace(0, 0, [track(0, "thread"), track(1, "thread"), track(2, "stream")]),
      trace(1, 1, [track(0, "thread")]),
    );
    const choice = { ...none, order: ["1", "0", "0:1", "0:0"], offsets: { 1: 1500 } };
    const rows = buildRows(two, choice, t).filter((row) => !row.key.endsWith("/computed"));
    expect(rows.map((row) => row.key)).toEqual(["1", "1/host", "1:0", "0", "0/host", "0:1", "0:0", "0/device", "0:2"]);
    expect(rows[0]!.note).toBe("offset +1.500 µs");
    expect(siblingsOf(rows, rows[5]!)).toEqual(["0:1", "0:0"]);
    expect(siblingsOf(rows, rows[3]!)).toEqual(["1", "0"]);
    expect(siblingsOf(rows, rows[4]!)).toEqual([]);
    expect(inOrder(["a", "b", "c"], (x) => x, ["c"])).toEqual(["c", "a", "b"]);
  });
  it("name the folder where two traces have the same name", () => {
    const [a, b] = [trace(0, 0, [track(0, "thread")]), trace(1, 0, [track(0, "thread")])];
    const two = session({ ...a, name: "x.json", path: "/d/a/x.json" }, { ...b, name: "x.json", path: "/d/b/x.json" });
    const labels = buildRows(two, none, t).filter((row) => row.kind === "trace");
    expect(labels.map((row) => row.label)).toEqual(["Rank 0 · a/x.json", "Rank 0 · b/x.json"]);
  });
  it("show that they are a part only", () => {
    const part = { ...trace(0, 0, [track(0, "thread")]), state: "reading" };
    const rows = buildRows(session(part), none, t);
    expect(rows[0]!.note).toContain("preview");
    const failed = { ...part, state: "failed", message: "it is empty" };
    expect(buildRows(session(failed), none, t).map((row) => row.note)).toEqual(["Cannot be read · it is empty"]);
    expect(buildRows(session({ ...failed, state: "ready", tracks: [] }), none, t)).toEqual([]);
  });
});

describe("marks", () => {
  it("are on a lane below the slices, and make a lane of their own where there are none", () => {
    const of = (t: TrackMessage, marks: number) => ({ ...t, marks });
    const tracks = [of(track(0, "thread", 5, 3), 2), of(track(1, "mark", 0, 1), 4), track(2, "thread", 0, 0)];
    const state = session(trace(0, 0, tracks));
    const rows = buildRows(state, none, t).filter((row) => row.track >= 0 && row.track < 3);
    expect(rows.map((row) => [row.track, row.depths, row.marks])).toEqual([
      [0, 3, 2],
      [1, 1, 0],
    ]);
    // What has nothing but marks comes after what works.
    const traces = [of({ ...track(0, "thread", 0, 1), process: 4 }, 1), { ...track(1, "thread"), process: 5 }];
    const order = buildRows(session(trace(0, 0, traces)), none, t).filter((row) => row.track === 0 || row.track === 1);
    expect(order.map((row) => row.track)).toEqual([1, 0]);
    // Thin lines of a folded lane have no room for them.
    expect(buildRows(state, { ...none, folded: ["0:0"] }, t).find((row) => row.track === 0)!.marks).toBe(-1);
  });
});

describe("pinned lanes", () => {
  const tracks = [0, 1, 2, 3].map((id) => track(id, "thread"));
  const rows = buildRows(session(trace(0, 0, tracks)), { ...none, pinned: ["0:2"] }, t);
  it("stay at the top while others scroll below them", () => {
    const { seen, stuck, rows: all } = placeRows(rows, 60, 400);
    expect(stuck).toBe(24 + 41);
    expect(seen.slice(0, 2).map((row) => [row.key, row.y - 60])).toEqual([
      ["pinned", 0],
      ["0:2", 24],
    ]);
    // What lies behind them is not in view, what reaches out is.
    expect(seen[2]!.y + seen[2]!.height).toBeGreaterThan(60 + stuck);
    expect(all).toHaveLength(rows.length);
    expect(rows[1]!.y).toBe(24);
  });
  it("scroll too where they would leave no room", () => {
    expect(placeRows(rows, 60, 100)).toMatchObject({ stuck: 0, rows });
    expect(placeRows(rows.slice(2), 0, 400).stuck).toBe(0);
  });
});

it("numbers lanes of one name", () => {
  const same = [1, 2, 3].map((id) => ({ ...track(id, "stream"), name: id === 2 ? "Stream 2" : "Stream 4" }));
  expect([...labelsOf(same, t).values()]).toEqual(["Stream 4", "Stream 2", "Stream 4 (2)"]);
});

it("names traces by as many folders as distinguish them", () => {
  const at = (id: number, path: string) => ({ ...trace(id, 0, []), name: "rank0", path });
  const all = [at(0, "/data/db/level1/rank0"), at(1, "/data/text/level1/rank0"), at(2, "/other/rank0")];
  expect(all.map((one) => traceLabel(one, t, all))).toEqual([
    "Rank 0 · db/level1/rank0",
    "Rank 0 · text/level1/rank0",
    "Rank 0 · other/rank0",
  ]);
  expect(traceLabel(all[0]!, t, all.slice(0, 1))).toBe("Rank 0 · rank0");
});
