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
import type { TextKey } from "../../i18n";
import { Flame } from "./Flame";
import { type Node, treeOf, visible } from "./tree";

/** So deep are nodes open at first. */
const OPEN = 2;
const PARTS = ["causes", "tree", "flame"] as const;
const VERDICTS: Readonly<Record<string, TextKey>> = {
  changed: "compare.changed",
  unchanged: "compare.unchanged",
  "too noisy to tell": "compare.noisy",
  "one step: no verdict": "compare.one",
  appeared: "compare.appeared",
  vanished: "compare.vanished",
};
const CAUSES: Readonly<Record<string, TextKey>> = {
  appeared: "compare.appeared",
  vanished: "compare.vanished",
  "other kernels": "compare.cause.kernels",
  "other shapes": "compare.cause.shapes",
  "other types": "compare.cause.types",
  "more or fewer calls": "compare.cause.calls",
  "other time at the same shapes": "compare.cause.speed",
  "time of the host outside of operators": "compare.cause.host",
  "the device is idle (host gaps)": "compare.cause.idle",
  "communication that nothing hides": "compare.cause.exposed",
  "all work takes another time (clock or load of the machine)": "compare.cause.machine",
};
const STAGES: Readonly<Record<string, TextKey>> = {
  step: "compare.step",
  computing: "compare.computing",
  communication: "compare.communication",
  free: "compare.free",
};

type Table = ComparisonMessage["tables"][number];

function useWords() {
  const { t } = useApp();
  return (of: Readonly<Record<string, TextKey>>, word: unknown) => {
    const key = of[String(word)];
    return key ? t(key) : String(word);
  };
}

function useTimes(): GridColumn[] {
  const { t } = useApp();
  return [
    { name: t("compare.base"), kind: "duration", title: t("compare.base.help") },
    { name: t("compare.new"), kind: "duration", title: t("compare.new.help") },
    { name: t("compare.diff"), kind: "duration", title: t("compare.diff.help") },
    { name: t("compare.verdict"), kind: "text", width: 130 },
  ];
}

function Stages({ table }: { table: Table }) {
  const { t } = useApp();
  const word = useWords();
  const at = (name: string) => columnOf(table, name);
  const columns: GridColumn[] = [{ name: t("compare.stage"), kind: "text", width: 160 }, ...useTimes()];
  const rows = table.rows.map((row) => [
    word(STAGES, row[at("stage")]),
    row[at("base_mean_ns")] ?? null,
    row[at("comparison_mean_ns")] ?? null,
    row[at("diff_ns")] ?? null,
    word(VERDICTS, row[at("verdict")]),
  ]);
  return (
    <div className="compare-stages">
      <Grid label={t("compare.stage")} testId="compare-stages" columns={columns} rows={rows} />
    </div>
  );
}

function Causes({ table, onName }: { table: Table; onName: (name: string) => void }) {
  const { t } = useApp();
  const word = useWords();
  const at = (name: string) => columnOf(table, name);
  const columns: GridColumn[] = [
    { name: t("compare.cause"), kind: "text", width: 200 },
    { name: t("compare.subject"), kind: "text", width: 260 },
    { name: t("compare.module"), kind: "text", width: 180 },
    ...useTimes(),
  ];
  const rows = table.rows.map((row) => [
    word(CAUSES, row[at("cause")]),
    row[at("subject")] ?? null,
    row[at("module")] ?? null,
    row[at("base_step_ns")] ?? null,
    row[at("comparison_step_ns")] ?? null,
    row[at("diff_ns")] ?? null,
    word(VERDICTS, row[at("verdict")]),
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

function Tree({ root, onName }: { root: Node; onName: (name: string) => void }) {
  const { store, t } = useApp();
  const word = useWords();
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
      return [node.name, node.base, node.comparison, node.comparison - node.base, word(VERDICTS, node.verdict)];
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

function Result({ message }: { message: ComparisonMessage }) {
  const { store, actions, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const part = PARTS.find((name) => name === detail["compare.part"]) ?? "causes";
  const tables = useMemo(() => message.tables.map(inBaseUnits), [message]);
  const [stages, causes, tree] = tables;
  const root = useMemo(() => tree && treeOf(tree), [tree]);
  const onName = (name: string) => {
    if (name !== "") void actions.searchName(name);
  };
  if (message.missing !== "") return <Empty title={t("compare.none")} help={message.missing} />;
  return (
    <>
      <ul className="findings" data-testid="compare-said">
        {message.sentences.map((sentence) => (
          <li key={sentence} className="finding info">
            {sentence}
          </li>
        ))}
      </ul>
      {stages && <Stages table={stages} />}
      <div className="toolbar">
        {PARTS.map((name) => (
          <button
            key={name}
            aria-pressed={part === name}
            onClick={() => store.set({ detail: { ...store.get().detail, "compare.part": name } })}
          >
            {t(`compare.${name}`)}
          </button>
        ))}
        <span className="muted">{t("compare.hint")}</span>
      </div>
      {part === "causes" && causes && <Causes table={causes} onName={onName} />}
      {part === "tree" && root && <Tree root={root} onName={onName} />}
      {part === "flame" && root && (
        <div className="page scrolls">
          <Flame root={root} onNode={({ name }) => onName(name)} />
        </div>
      )}
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
      {query.data ? <Result message={query.data} /> : <Empty title={t("cluster.busy")} help="" />}
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
