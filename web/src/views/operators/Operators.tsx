import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { columnOf } from "../../app/columns";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { colorIndex } from "../../base/color";
import { formatDuration } from "../../base/format";
import { KEYS, type Key, filterOf, taskStatement, totalsStatement } from "./statements";

function Operators() {
  const { store, t, theme } = useApp();
  const [rank, select] = useRank(false);
  const chosen = useAppState((s) => s.detail["operators"] ?? "type");
  const key: Key = chosen in KEYS ? (chosen as Key) : "type";
  const sql = totalsStatement(key);
  const totals = useTable({ sql, trace: rank, limit: WHOLE });
  const metrics = useTable({ sql: "SELECT DISTINCT metric FROM device_task_pmu ORDER BY 1", trace: rank });
  const tasksSql = metrics.data ? taskStatement(metrics.data.rows.map((row) => String(row[0]))) : "";
  const tasks = useTable(metrics.data ? { sql: tasksSql, trace: rank, limit: WHOLE } : null);

  // A kind of task leads to its tasks below.
  const showTasks = (value: string) => {
    store.set({ detail: { ...store.get().detail, "f.kernels": filterOf(key, value) } });
  };
  const bars = useMemo(() => {
    if (!totals.data) return null;
    const [total, percent] = [columnOf(totals.data, "total_ns"), columnOf(totals.data, "percent")];
    const top = totals.data.rows.slice(0, 15);
    return {
      most: Number(top[0]?.[total] ?? 1),
      rows: top.map((row) => ({
        label: String(row[0]) || "–",
        title: String(row[0]),
        parts: [{ color: theme.bars[colorIndex(String(row[0]), theme.bars.length)]!, value: Number(row[total]) }],
        text: `${formatDuration(Number(row[total]))}  ${Number(row[percent]).toFixed(2)} %`,
      })),
    };
  }, [totals.data, theme]);

  if (totals.data?.rows.length === 0) return <Empty title={t("operators.none")} help={t("operators.none.help")} />;
  const choose = (name: string) => store.set({ detail: { ...store.get().detail, operators: name } });
  return (
    <div className="page">
      <div className="toolbar">
        {(Object.keys(KEYS) as Key[]).map((name) => (
          <button key={name} aria-pressed={key === name} onClick={() => choose(name)}>
            {t(`operators.${name}`)}
          </button>
        ))}
        <span className="grow" />
        {select}
      </div>
      <div className="columns">
        <div className="column" style={{ flex: 0.8 }}>
          {bars && (
            <Bars
              testId="operator-bars"
              rows={bars.rows}
              whole={bars.most}
              onRow={(row) => showTasks(row.title ?? "")}
            />
          )}
        </div>
        <div className="column" style={{ flex: 1.4 }}>
          <DataTable
            name={`operators-${key}`}
            answer={totals}
            trace={rank}
            sql={sql}
            testId="operator-types"
            onRow={(row) => showTasks(String(row[0]))}
          />
        </div>
      </div>
      <Failure of={metrics} />
      <DataTable name="kernels" answer={tasks} trace={rank} sql={tasksSql} testId="kernels" />
    </div>
  );
}

export const operatorsView: View = { name: "operators", title: "view.operators", component: Operators };
