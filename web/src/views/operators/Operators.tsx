import { useMemo } from "react";

import { api } from "../../api/client";
import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { useRank } from "../../app/RankSelect";
import { columnOf, useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { colorIndex } from "../../base/color";
import { formatDuration, formatShare } from "../../base/format";

const KERNELS =
  "SELECT slice_id, name, op_type, core, ts, dur, wait_ns, block_num, input_shapes, output_shapes, step_id FROM device_task WHERE core IS NOT NULL ORDER BY dur DESC";

function Operators() {
  const { store, t, theme } = useApp();
  const [rank, select] = useRank(false);
  const mode = useAppState((s) => s.detail["operators"] ?? "type");
  const types = useTable({ recipe: "op_statistic", trace: rank });
  const kernels = useTable({ sql: KERNELS, trace: rank, limit: 100_000 });

  const bars = useMemo(() => {
    if (!types) return null;
    const [name, core, total] = [columnOf(types, "op_type"), columnOf(types, "core"), columnOf(types, "total_ns")];
    const sums = new Map<string, number>();
    for (const row of types.rows) {
      const key = mode === "core" ? String(row[core] ?? "–") : `${row[name]} · ${row[core] ?? "–"}`;
      sums.set(key, (sums.get(key) ?? 0) + Number(row[total]));
    }
    const whole = [...sums.values()].reduce((a, b) => a + b, 0);
    const sorted = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 15);
    return {
      most: sorted[0]?.[1] ?? 1,
      rows: sorted.map(([label, value]) => ({
        label,
        parts: [{ color: theme.bars[colorIndex(label, theme.bars.length)]!, value }],
        text: `${formatDuration(value)}  ${formatShare(value / whole)}`,
      })),
    };
  }, [types, mode, theme]);

  if (types && types.rows.length === 0) return <Empty title={t("operators.none")} help={t("operators.none.help")} />;
  const choose = (name: string) => store.set({ detail: { ...store.get().detail, operators: name } });
  return (
    <div className="page">
      <div className="toolbar">
        <button aria-pressed={mode === "type"} onClick={() => choose("type")}>
          {t("operators.type")}
        </button>
        <button aria-pressed={mode === "core"} onClick={() => choose("core")}>
          {t("operators.core")}
        </button>
        <span className="grow" />
        {select}
      </div>
      <div className="columns">
        <div className="column">{bars && <Bars testId="operator-bars" rows={bars.rows} whole={bars.most} />}</div>
        <div className="column" style={{ flex: 1.4 }}>
          <DataTable name="op_statistic" table={types} trace={rank} testId="operator-types" />
        </div>
      </div>
      <DataTable name="kernels" table={kernels} trace={rank} csv={api.csvAddress(KERNELS, rank)} testId="kernels" />
    </div>
  );
}

export const operatorsView: View = { name: "operators", title: "view.operators", component: Operators };
