import { skipToken, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api } from "../../api/client";
import type { ComparisonMessage } from "../../api/messages";
import { inBaseUnits } from "../../app/baseUnits";
import { columnOf } from "../../app/columns";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { Grid, type GridColumn, type LazyRows } from "../../app/Grid";
import { TraceSelect } from "../../app/RankSelect";
import { isReady } from "../../app/traces";
import { useVersions } from "../../app/useTable";
import type { View } from "../../app/view";
import { Aligned, StepChoice } from "./Aligned";
import { Calls } from "./Calls";
import { Flame } from "./Flame";
import { MemoryCurves } from "./Memory";
import { Requests } from "./Requests";
import { type Node, treeOf, visible } from "./tree";
import type { Pair } from "./useSteps";
import { type Table, type Word, wordsOf } from "./words";

/** So deep are nodes open at first. */
const OPEN = 2;
const PARTS = ["causes", "tree", "flame", "calls", "requests", "memory", "timelines"] as const;
/** Shown where the table has a row. */
const TABLE_OF: Partial<Record<Part, string>> = { calls: "compare_call", requests: "compare_request" };
function useTimes(): GridColumn[] {
  const { t } = useApp();
  return [
    { name: t("compare.base"), kind: "duration", title: t("compare.base.help") },
    { name: t("compare.new"), kind: "duration", title: t("compare.new.help") },
    { name: t("compare.diff"), kind: "duration", title: t("compare.diff.help") },
    { name: t("compare.verdict"), kind: "text", width: 130 },
  ];
}

function Stages({ table, word }: { table: Table; word: Word }) {
  const { t } = useApp();
  const at = (name: string) => columnOf(table, name);
  const columns: GridColumn[] = [{ name: t("compare.stage"), kind: "text", width: 160 }, ...useTimes()];
  const rows = table.rows.map((row) => [
    row[at("device")]
      ? `${word(row[at("stage")])} · ${t("lane.device", String(row[at("device")]))}`
      : word(row[at("stage")]),
    row[at("base_mean_ns")] ?? null,
    row[at("comparison_mean_ns")] ?? null,
    row[at("diff_ns")] ?? null,
    word(row[at("verdict")]),
  ]);
  return (
    <div className="compare-stages">
      <Grid label={t("compare.stage")} testId="compare-stages" columns={columns} rows={rows} />
    </div>
  );
}

function Causes({ table, word, onName }: { table: Table; word: Word; onName: (name: string) => void }) {
  const { t } = useApp();
  const at = (name: string) => columnOf(table, name);
  const columns: GridColumn[] = [
    { name: t("compare.cause"), kind: "text", width: 200 },
    { name: t("compare.subject"), kind: "text", width: 260 },
    { name: t("compare.module"), kind: "text", width: 180 },
    ...useTimes(),
  ];
  const rows = table.rows.map((row) => [
    word(row[at("cause")]),
    row[at("subject")] ?? null,
    row[at("module")] ?? null,
    row[at("base_step_ns")] ?? null,
    row[at("comparison_step_ns")] ?? null,
    row[at("diff_ns")] ?? null,
    word(row[at("verdict")]),
  ]);
  return (
    <Grid
      label={t("compare.causes")}
      testId="compare-causes"
      columns={columns}
      rows={rows}
      onRow={(row) => onName(String(row[1]).replace(/ \(.*\)$/, ""))}
    />
  );
}

function Tree({ root, word, onName }: { root: Node; word: Word; onName: (name: string) => void }) {
  const { store, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const toggled = useMemo(() => new Set((detail["compare.toggled"] ?? "").split("|")), [detail]);
  const isOpen = (node: Node) => node.children.length > 0 && node.depth < OPEN !== toggled.has(node.key);
  const shown = visible(root, isOpen);
  const columns: GridColumn[] = [{ name: t("column.name"), kind: "text", width: 460 }, ...useTimes()];
  const rows: LazyRows = {
    count: shown.length,
    row: (at) => {
      const node = shown[at];
      if (!node) return null;
      return [node.name, node.base, node.comparison, node.comparison - node.base, word(node.verdict)];
    },
    seen: () => undefined,
    sort: null,
    onSort: () => undefined,
  };
  return (
    <Grid
      label={t("compare.tree")}
      testId="compare-tree"
      columns={columns}
      rows={rows}
      onRow={(row) => onName(String(row[0]))}
      tree={{
        depth: (at) => shown[at]?.depth ?? 0,
        isOpen: (at) => {
          const node = shown[at];
          return node && node.children.length > 0 ? isOpen(node) : null;
        },
        toggle: (at) => {
          const next = new Set(toggled);
          const { key } = shown[at]!;
          if (!next.delete(key)) next.add(key);
          const text = [...next].filter(Boolean).join("|");
          store.set({ detail: { ...store.get().detail, "compare.toggled": text } });
        },
      }}
    />
  );
}

type Part = (typeof PARTS)[number];

function Parts({ shown, part, pair }: { shown: readonly Part[]; part: Part; pair: Pair }) {
  const { store, t } = useApp();
  return (
    <div className="toolbar">
      {shown.map((name) => (
        <button
          key={name}
          aria-pressed={part === name}
          onClick={() => store.set({ detail: { ...store.get().detail, "compare.part": name } })}
        >
          {t(`compare.${name}`)}
        </button>
      ))}
      {part === "timelines" || part === "memory" ? (
        <StepChoice pair={pair} />
      ) : (
        part !== "requests" && <span className="muted">{t("compare.hint")}</span>
      )}
    </div>
  );
}

function Result({ message, pair }: { message: ComparisonMessage; pair: Pair }) {
  const { actions, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const tables = useMemo(() => new Map(message.tables.map((table) => [table.name, inBaseUnits(table)])), [message]);
  const word = useMemo(() => wordsOf(message), [message]);
  const stages = tables.get("compare_stage");
  const causes = tables.get("compare_cause");
  const tree = tables.get("compare_tree");
  const requests = tables.get("compare_request");
  const distribution = tables.get("compare_distribution");
  const root = useMemo(() => tree && treeOf(tree), [tree]);
  const shown = PARTS.filter((name) => {
    const table = TABLE_OF[name];
    return table === undefined || (tables.get(table)?.rows.length ?? 0) > 0;
  });
  const part = shown.find((name) => name === detail["compare.part"]) ?? "causes";
  const onName = (name: string) => {
    if (name !== "") void actions.searchName(name);
  };
  if (message.missing !== "") return <Empty title={t("compare.none")} help={message.missing} />;
  // The others have numbers of their own, and need the room.
  const isOfStep = part === "causes" || part === "tree" || part === "flame";
  return (
    <>
      <Parts shown={shown} part={part} pair={pair} />
      {isOfStep && (
        <ul className="findings" data-testid="compare-sentences">
          {message.sentences.map((sentence) => (
            <li key={sentence} className="finding info">
              {sentence}
            </li>
          ))}
        </ul>
      )}
      {isOfStep && stages && <Stages table={stages} word={word} />}
      {part === "causes" && causes && <Causes table={causes} word={word} onName={onName} />}
      {part === "tree" && root && <Tree root={root} word={word} onName={onName} />}
      {part === "flame" && root && (
        <div className="page scrolls">
          <Flame root={root} onNode={({ name }) => onName(name)} />
        </div>
      )}
      {part === "calls" && <Calls table={tables.get("compare_call")!} word={word} onName={onName} />}
      {part === "requests" && requests && distribution && (
        <Requests table={requests} word={word} distribution={distribution} />
      )}
      {part === "timelines" && <Aligned pair={pair} />}
      {part === "memory" && <MemoryCurves pair={pair} table={tables.get("compare_memory")} onName={onName} />}
    </>
  );
}

function Compare() {
  const { store, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const detail = useAppState((s) => s.detail);
  const language = useAppState((s) => s.language);
  const versions = useVersions();
  const ready = session.traces.filter(isReady);
  const chosen = (key: string, usual: number | undefined) =>
    ready.find(({ id }) => String(id) === detail[key])?.id ?? usual;
  // As --baseline named it.
  const named = detail["compare.baseline"];
  const folder = named?.replace(/\/*$/, "/");
  const baseline = ready.find(({ path }) => path === named || (folder && path.startsWith(folder)));
  const base = chosen("compare.base", (baseline ?? ready.at(-1))?.id);
  const comparison = chosen("compare.new", (ready.find(({ id }) => id !== base) ?? ready[0])?.id);
  const isKnown = versions !== "" && base !== undefined && comparison !== undefined && ready.length > 1;
  const query = useQuery({
    queryKey: ["compare", base, comparison, language, versions],
    queryFn: isKnown ? ({ signal }) => api.compare(base, comparison, language, signal) : skipToken,
  });
  if (ready.length < 2) return <Empty title={t("compare.two")} help={t("compare.two.help")} />;
  const traceOf = (id: number | undefined) => ready.find((trace) => trace.id === id);
  const [baseTrace, comparisonTrace] = [traceOf(base), traceOf(comparison)];
  const pair = baseTrace && comparisonTrace ? { base: baseTrace, comparison: comparisonTrace } : null;
  const choice = (key: "compare.base" | "compare.new", value: number | undefined) => (
    <TraceSelect
      label={t(key)}
      value={value ?? -1}
      traces={ready}
      choose={(id) => store.set({ detail: { ...store.get().detail, [key]: id } })}
    />
  );
  return (
    <div className="page">
      <div className="toolbar">
        {choice("compare.new", comparison)}
        {choice("compare.base", base)}
      </div>
      <Failure of={query} />
      {query.data && pair ? <Result message={query.data} pair={pair} /> : <Empty title={t("cluster.busy")} help="" />}
    </div>
  );
}

export const compareView: View = {
  name: "compare",
  title: "view.compare",
  component: Compare,
  isUseful: (session) => (session?.traces.length ?? 0) > 1,
  under: "summary",
};
