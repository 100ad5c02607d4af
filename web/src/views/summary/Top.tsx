import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { columnOf } from "../../app/columns";
import { useApp } from "../../app/context";
import { Failure } from "../../app/Failure";
import { Partial, useRanks } from "../../app/useRanks";
import { colorIndex } from "../../base/color";
import { filterOf } from "../operators/statements";
import { formatCount, formatDuration } from "../../base/format";

/** The kinds of device work that took most time, over all ranks. */
export function Top() {
  const { store, t, theme } = useApp();
  const asked = useRanks("op_statistic");
  const { answers, failed } = asked;
  const top = useMemo(() => {
    const sums = new Map<string, [number, number]>();
    for (const { table } of answers) {
      const [type, total, count] = ["op_type", "total_ns", "count"].map((name) => columnOf(table, name));
      for (const row of table.rows) {
        const name = String(row[type!]);
        const sum = sums.get(name) ?? [0, 0];
        sums.set(name, [sum[0] + Number(row[total!]), sum[1] + Number(row[count!])]);
      }
    }
    return [...sums].sort((a, b) => b[1][0] - a[1][0]).slice(0, 10);
  }, [answers]);
  if (failed) return <Failure of={failed} />;
  if (top.length === 0) return null;
  return (
    <>
      <div className="toolbar">
        <b>{t("summary.top")}</b>
        <button onClick={() => store.set({ view: "operators" })}>{t("view.operators")}</button>
        <span className="warn">
          <Partial of={asked} />
        </span>
      </div>
      <Bars
        testId="top-operators"
        whole={top[0]![1][0]}
        onRow={({ title }) =>
          store.set({
            view: "operators",
            detail: {
              ...store.get().detail,
              operators: "type",
              "f.kernels": title ? filterOf("type", title) : "",
            },
          })
        }
        rows={top.map(([label, [total, count]]) => ({
          label: label || t("summary.notype"),
          title: label,
          parts: [{ color: theme.bars[colorIndex(label, theme.bars.length)]!, value: total }],
          text: `${formatDuration(total)} · ${formatCount(count)} ×`,
        }))}
      />
    </>
  );
}
