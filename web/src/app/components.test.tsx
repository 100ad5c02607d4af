// @vitest-environment happy-dom
import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";

import { Bars } from "./Bars";
import { Dialogs } from "./Dialogs";
import { Issues } from "./Issues";
import { OffsetInput } from "./OffsetInput";
import { TraceList } from "./Opening";
import { OpenPath } from "./OpenPath";
import { useRank } from "./RankSelect";
import { serve, sessionOf, show, storeOf, traceOf } from "./testing";
import { TopBar } from "./TopBar";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const filled = {
  tracks: [
    {
      id: 1,
      kind: "thread",
      name: "main",
      process: 0,
      thread: 1,
      device: -1,
      stream: -1,
      sort: 0,
      depths: 1,
      slices: 3,
      marks: 0,
    },
  ],
};

it("counts traces, and issues apart from them", () => {
  show(storeOf(sessionOf([traceOf(0, { issues: 20 }), traceOf(1, { issues: 4 })])), <TopBar />);
  expect(screen.getByTestId("traces-button").textContent).toBe("Traces2⚠ 24");
  expect(screen.getByTitle(/24/).className).toContain("warn");
});

it("leads from a bar, and from its label, to what it sums", () => {
  const onRow = vi.fn();
  const rows = [{ label: "mm", parts: [{ color: "red", value: 5 }], text: "5 ns" }];
  show(storeOf(sessionOf([])), <Bars rows={rows} whole={10} onRow={onRow} />);
  expect(document.querySelector<HTMLElement>(".bar i")!.style.width).toBe("50%");
  fireEvent.click(screen.getByRole("button", { name: "mm" }));
  fireEvent.click(document.querySelector(".bar")!);
  expect(onRow.mock.calls.map(([row, at]) => [row.label, at])).toEqual([
    ["mm", 0],
    ["mm", 0],
  ]);
});

function Rank({ all }: { all: boolean }) {
  const [rank, select] = useRank(all);
  return (
    <p>
      {select}
      <b data-testid="rank">{rank}</b>
    </p>
  );
}

it("shows the lowest rank, all where that is possible, and what was chosen", () => {
  const session = sessionOf([traceOf(0, { rank: 3 }), traceOf(1, { rank: 1 }), traceOf(2, { state: "failed" })]);
  show(storeOf(session), <Rank all={false} />);
  expect(screen.getByTestId("rank").textContent).toBe("1");
  cleanup();
  const store = storeOf(session);
  show(store, <Rank all />);
  expect(screen.getByTestId("rank").textContent).toBe("-1");
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "0" } });
  expect(store.get().detail["rank"]).toBe("0");
  cleanup();
  // Of a trace that is not there any more the first is shown.
  show(storeOf(session, { detail: { rank: "2" } }), <Rank all={false} />);
  expect(screen.getByTestId("rank").textContent).toBe("1");
});

it("moves a rank by what is typed, and takes back what is no time", async () => {
  const session = sessionOf([traceOf(0, filled), traceOf(1, filled)]);
  serve({ "/api/session": () => session });
  const store = storeOf(session);
  show(store, <OffsetInput />);
  const input = screen.getByLabelText<HTMLInputElement>(/rank1\.json/);
  const leave = (text: string) => {
    input.value = text;
    fireEvent.focusOut(input);
  };
  leave("soon");
  expect(input.value).toBe("0 ns");
  leave("1.5 ms");
  await waitFor(() => expect(store.get().offsets).toEqual({ 1: 1_500_000 }));
});

it("completes a path from the folders, and opens it", async () => {
  const entries = [
    { name: "run1", folder: true, format: "" },
    { name: "trace.json", folder: false, format: "a trace" },
  ];
  const asked = serve({ "/api/browse": () => ({ path: "/job", entries }), "/api/open": () => ({}) });
  const onDone = vi.fn();
  show(storeOf(sessionOf([])), <OpenPath onDone={onDone} />);
  const input = screen.getByRole("textbox");
  await waitFor(() => expect(screen.getAllByRole("option")).toHaveLength(2));
  fireEvent.change(input, { target: { value: "/job/tr" } });
  expect(screen.getAllByRole("option").map((option) => option.textContent)).toEqual(["trace.json a trace"]);
  fireEvent.keyDown(input, { key: "Tab" });
  expect((input as HTMLInputElement).value).toBe("/job/trace.json");
  fireEvent.submit(input.closest("form")!);
  await waitFor(() => expect(onDone).toHaveBeenCalled());
  expect(asked.at(-1)).toBe("/api/open?path=%2Fjob%2Ftrace.json");
});

it("shows the state of each trace, and why it failed", () => {
  const traces = [traceOf(0, filled), traceOf(1, { empty: true }), traceOf(2, { state: "failed", message: "cut off" })];
  show(storeOf(sessionOf(traces)), <TraceList />);
  const lines = [...document.querySelectorAll("li")].map((line) => line.textContent);
  expect(lines[0]).toContain("Rank 0 · /job/rank0.json");
  expect(lines[1]).toContain("Holds nothing");
  expect(lines[2]).toContain("cut off");
});

it("lists the issues of the imports, and asks only where there is something", async () => {
  const row = ["warning", "cut", 3, "a.json", "look at it"];
  const asked = serve({ "/api/sql": () => ({ columns: [], rows: [row], complete: true, elapsed: 0 }) });
  show(storeOf(sessionOf([traceOf(0)])), <Issues />);
  expect(asked).toEqual([]);
  cleanup();
  show(storeOf(sessionOf([traceOf(0, { issues: 1 })])), <Issues />);
  expect((await screen.findByTestId("issues")).textContent).toContain("look at itcut · 3 × · a.json");
});

it("shows the advice of an import in the language of the page", async () => {
  const row = ["warning", "cut", 3, "a.json", "look at it"];
  const asked = serve({
    "/api/sql": () => ({ columns: [], rows: [row, ["info", "odd", 1, "", "of the data"]], complete: true, elapsed: 0 }),
    "/api/advice?lang=zh": () => [{ advice: "look at it", text: "请查看" }],
  });
  show(storeOf(sessionOf([traceOf(0, { issues: 2 })]), { language: "zh" }), <Issues />);
  const list = await screen.findByTestId("issues");
  await vi.waitFor(() => expect(list.textContent).toContain("警告请查看cut"));
  expect(list.textContent).toContain("提示of the data");
  expect(asked).toHaveLength(2);
});

it("finds a command by some of its letters and runs it with Enter", () => {
  const store = storeOf(sessionOf([traceOf(0, filled)]), { dialog: "palette" });
  show(store, <Dialogs />);
  const input = screen.getByRole("textbox");
  fireEvent.change(input, { target: { value: "summary" } });
  fireEvent.keyDown(input, { key: "Enter" });
  expect(store.get()).toMatchObject({ dialog: "", view: "summary" });
});

it("closes a dialog by its button, and keeps Tab inside", () => {
  const store = storeOf(sessionOf([traceOf(0, filled), traceOf(1, filled)]), { dialog: "traces" });
  show(store, <Dialogs />);
  const dialog = screen.getByRole("dialog");
  const close = screen.getByRole("button", { name: "Close" });
  const last = [...dialog.querySelectorAll<HTMLElement>("button, input, select, summary")].at(-1)!;
  last.focus();
  fireEvent.keyDown(last, { key: "Tab" });
  expect(document.activeElement).toBe(close);
  fireEvent.click(close);
  expect(store.get().dialog).toBe("");
});
