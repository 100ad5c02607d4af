import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { useApp } from "../../app/context";
import { Failure } from "../../app/Failure";
import { Partial, useRanks } from "../../app/useRanks";
import { colorIndex } from "../../base/color";
import { filterOf } from "../operators/statements";
import { formatCount, formatDuration } from "../../base/format";

const TYPES =
  "SELECT coalesce(op_type, name) AS type, sum(dur)::BIGINT AS total, count(*) AS count FROM device_task WHERE core IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 60";

/** The kinds of device work that took most time, over all ranks. */
export function Top() {
  const { store, t, theme } = useApp();
  const asked = useRanks({ sql: TYPES });
  const { answers, failed } = asked;
  const top = useMemo(() => {
    const sums = new Map<string, [number, number]>();
    for (const row of answers.flatMap((answer) => answer.table.rows)) {
      const sum = sums.get(String(row[0])) ?? [0, 0];
      sums.set(String(row[0]), [sum[0] + Number(row[1]), sum[1] + Number(row[2])]);
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
        onRow={({ label }) =>
          store.set({
            view: "operators",
            detail: { ...store.get().detail, operators: "type", "f.kernels": filterOf("type", label) },
          })
        }
        rows={top.map(([label, [total, count]]) => ({
          label,
          parts: [{ color: theme.bars[colorIndex(label, theme.bars.length)]!, value: total }],
          text: `${formatDuration(total)} · ${formatCount(count)} ×`,
        }))}
      />
    </>
  );
}
