import { useMemo } from "react";

import type { ClusterTableMessage } from "../../api/messages";
import { CellMap } from "../../app/CellMap";
import { columnOf } from "../../app/columns";
import { useApp } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { showStep } from "../../app/showStep";
import { Sentences, answerOf, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { mix } from "../../base/color";
import { formatCount, formatShare } from "../../base/format";
import { loadOf } from "./load";

function Load({ table, traceOf }: { table: ClusterTableMessage; traceOf: ReadonlyMap<number, number> }) {
  const { store, actions, t, theme } = useApp();
  const groups = useMemo(() => loadOf(table), [table]);
  const most = Math.max(1, ...groups.flatMap(({ members }) => members.map(({ tokens }) => tokens)));
  const widest = Math.max(...groups.map(({ members }) => members.length));
  const at = (row: number, column: number) => groups[row]?.members[column];
  return (
    <CellMap
      label={t("experts.map")}
      testId="experts-map"
      corner={t("experts.place")}
      rows={groups.map(({ ranks }) => ranks || "–")}
      columns={Array.from({ length: widest }, (_, i) => String(i))}
      color={(row, column) => {
        const member = at(row, column);
        return member && mix(theme.faint, theme.computing, member.tokens / most);
      }}
      text={(row, column) => formatCount(at(row, column)?.tokens ?? 0)}
      tip={({ row, column }) => {
        const member = at(row, column);
        const { mean } = groups[row]!;
        return (
          member && (
            <>
              <b>{t("lane.rank", member.rank)}</b>
              <dl>
                <div>
                  <dt>{t("experts.tokens")}</dt>
                  <dd>{formatCount(member.tokens)}</dd>
                </div>
                <div>
                  <dt>{t("experts.mean")}</dt>
                  <dd>{formatShare(mean > 0 ? member.tokens / mean - 1 : 0, 1)}</dd>
                </div>
              </dl>
            </>
          )
        );
      }}
      onCell={({ row, column }) => {
        const trace = traceOf.get(at(row, column)?.rank ?? -1);
        if (trace !== undefined) showStep(trace, -1, store, actions);
      }}
    />
  );
}

function Experts() {
  const { store, actions, t } = useApp();
  const balance = useCluster("ep_load_balance");
  const table = balance.table("EPTokensSummary");
  if (balance.missing !== "" || table?.rows.length === 0)
    return <Empty title={t("experts.none")} help={t("experts.none.help")} />;
  if (!table) return balance.failed.error ? <Sentences of={[balance]} /> : <Empty title={t("cluster.busy")} help="" />;
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[balance]} />
      </div>
      <Load table={table} traceOf={balance.traceOf} />
      <DataTable
        name="experts"
        testId="experts"
        trace={-1}
        answer={answerOf(table)}
        about={table.columns}
        onRow={(row) => {
          const trace = balance.traceOf.get(Number(row[columnOf(table, "rank")]));
          if (trace !== undefined) showStep(trace, -1, store, actions);
        }}
      />
    </div>
  );
}

export const expertsView: View = { name: "experts", title: "view.experts", component: Experts, under: "ranks" };
