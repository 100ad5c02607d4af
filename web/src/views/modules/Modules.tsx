import { useMemo } from "react";

import { api } from "../../api/client";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Grid, type GridColumn, type LazyRows } from "../../app/Grid";
import { Sentences, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import type { ClusterTableMessage } from "../../api/messages";
import { type Node, type Order, meanOf, occurrence, treeOf, visible } from "./tree";

const ORDERS: readonly Order[] = ["name", "total", "total", "calls", "mean"];

/** So deep are modules open at first. */
const OPEN = 2;

function Tree({ table, traceOf }: { table: ClusterTableMessage; traceOf: ReadonlyMap<number, number> }) {
  const { store, actions, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const set = (key: string, value: string) => store.set({ detail: { ...store.get().detail, [key]: value } });
  const ranks = useMemo(() => [...traceOf.keys()].sort((a, b) => a - b), [traceOf]);
  const only = ranks.find((rank) => String(rank) === detail["modules.rank"]) ?? null;
  const nodes = useMemo(() => treeOf(table, only), [table, only]);
  const all = useMemo(() => nodes.reduce((sum, { total }) => sum + (total ?? 0), 0), [nodes]);
  const toggled = useMemo(() => new Set((detail["modules.toggled"] ?? "").split("|")), [detail]);
  const isOpen = (node: Node, depth: number) =>
    (node.kind === "module" && depth < OPEN) !== toggled.has(node.key) && node.children.length > 0;
  const column = Number(detail["modules.by"] ?? 1);
  const descending = detail["modules.up"] !== "1";
  const shown = visible(nodes, isOpen, ORDERS[column] ?? "total", descending);
  const columns: GridColumn[] = [
    { name: t("column.name"), kind: "text", width: 520 },
    { name: t("modules.time"), title: t("modules.time.help"), kind: "duration", bar: Math.max(1, all) },
    { name: t("column.share"), kind: "share" },
    { name: t("modules.calls"), kind: "integer" },
    { name: t("column.average"), kind: "duration" },
    { name: t("modules.rank"), kind: ranks.length > 1 && only === null ? "text" : "hidden" },
  ];
  const rows: LazyRows = {
    count: shown.length,
    row: (at) => {
      const node = shown[at]?.node;
      if (!node) return null;
      const { name, total, calls, rank } = node;
      return [name, total, total === null ? null : total / Math.max(1, all), calls, meanOf(node), rank, node.key];
    },
    seen: () => undefined,
    sort: { column, descending },
    onSort: (next) => {
      if (next.column > 4) return;
      store.set({
        detail: { ...store.get().detail, "modules.by": String(next.column), "modules.up": next.descending ? "" : "1" },
      });
    },
  };
  const lead = (node: Node) => {
    // On the rank that spends longest in it, where all are shown together.
    const trace = traceOf.get(only ?? node.rank ?? ranks[0]!);
    if (trace === undefined) return;
    api.sql(occurrence(node), trace).then(({ rows: [row] }) => {
      if (typeof row?.[0] === "number") void actions.select(trace, row[0], true, true);
      else void actions.searchName(node.name);
    }, actions.fail);
  };
  return (
    <>
      <div className="toolbar">
        <span className="muted">{t("modules.hint")}</span>
        <span className="grow" />
        {ranks.length > 1 && (
          <label>
            {t("tables.rank")}{" "}
            <select value={only ?? ""} onChange={(event) => set("modules.rank", event.target.value)}>
              <option value="">{t("tables.all")}</option>
              {ranks.map((rank) => (
                <option key={rank}>{rank}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Grid
        label={t("view.modules")}
        testId="module-tree"
        columns={columns}
        rows={rows}
        onRow={(row) => {
          const found = shown.find(({ node }) => node.key === row[6]);
          if (found) lead(found.node);
        }}
        tree={{
          depth: (at) => shown[at]?.depth ?? 0,
          isOpen: (at) => {
            const one = shown[at];
            return one && one.node.children.length > 0 ? isOpen(one.node, one.depth) : null;
          },
          toggle: (at) => {
            const key = shown[at]!.node.key;
            const next = new Set(toggled);
            if (!next.delete(key)) next.add(key);
            set("modules.toggled", [...next].filter(Boolean).join("|"));
          },
        }}
      />
    </>
  );
}

function Modules() {
  const { t } = useApp();
  const statistic = useCluster("module_statistic");
  const table = statistic.table("ModuleStatistic");
  if (statistic.missing !== "") return <Empty title={t("modules.none")} help={t("modules.none.help")} />;
  if (!table)
    return statistic.failed.error ? <Sentences of={[statistic]} /> : <Empty title={t("cluster.busy")} help="" />;
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[statistic]} />
      </div>
      <Tree table={table} traceOf={statistic.traceOf} />
    </div>
  );
}

export const modulesView: View = {
  name: "modules",
  title: "view.modules",
  component: Modules,
  under: "operators",
};
