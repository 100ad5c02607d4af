import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { useApp } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { useRank } from "../../app/RankSelect";
import { columnOf, useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatBytes, formatDuration } from "../../base/format";
import { matrixOf } from "./matrix";

function Communication() {
  const { t, theme } = useApp();
  const [rank, select] = useRank(false);
  const table = useTable({ recipe: "communication", trace: rank });
  const links = useTable({ recipe: "communication_matrix", trace: rank });
  const matrix = useMemo(() => (links ? matrixOf(links) : null), [links]);
  const bars = useMemo(() => {
    if (!table) return null;
    const at = (name: string) => columnOf(table, name);
    const [group, elapse, transit, wait, idle] = [
      at("group"),
      at("elapse_ns"),
      at("transit_ns"),
      at("wait_ns"),
      at("idle_ns"),
    ];
    const sums = new Map<string, [number, number, number, number]>();
    for (const row of table.rows) {
      // Totals repeat their operations.
      if (String(row[at("name")]).startsWith("Total")) continue;
      const sum = sums.get(String(row[group])) ?? [0, 0, 0, 0];
      [elapse, transit, wait, idle].forEach((column, i) => (sum[i] = sum[i]! + Number(row[column] ?? 0)));
      sums.set(String(row[group]), sum);
    }
    return [...sums].map(([label, [all, moving, waiting, resting]]) => ({
      label,
      parts: [
        { color: theme.communication, value: moving, title: `transit ${formatDuration(moving)}` },
        { color: theme.exposed, value: waiting, title: `wait ${formatDuration(waiting)}` },
        { color: theme.free, value: resting, title: `idle ${formatDuration(resting)}` },
      ],
      text: formatDuration(all),
    }));
  }, [table, theme]);
  if (table && table.rows.length === 0)
    return <Empty title={t("communication.none")} help={t("communication.none.help")} />;
  return (
    <div className="page">
      <div className="toolbar">
        <span className="legend">
          <span>
            <i style={{ background: theme.communication }} />
            transit
          </span>
          <span>
            <i style={{ background: theme.exposed }} />
            wait
          </span>
          <span>
            <i style={{ background: theme.free }} />
            idle
          </span>
        </span>
        <span className="grow" />
        {select}
      </div>
      {bars && (
        <Bars
          rows={bars}
          whole={Math.max(1, ...bars.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)))}
          testId="communication-groups"
        />
      )}
      {matrix && matrix.ranks.length > 0 && matrix.ranks.length <= 64 && (
        <div style={{ overflow: "auto", maxHeight: "40%" }}>
          <table className="matrix" data-testid="matrix">
            <caption className="muted" style={{ textAlign: "left" }}>
              {t("communication.matrix")}
            </caption>
            <tbody>
              <tr>
                <th>
                  {t("communication.from")} \ {t("communication.to")}
                </th>
                {matrix.ranks.map((to) => (
                  <th key={to}>{to}</th>
                ))}
              </tr>
              {matrix.ranks.map((from) => (
                <tr key={from}>
                  <th>{from}</th>
                  {matrix.ranks.map((to) => {
                    const link = matrix.links.get(`${from}:${to}`);
                    const heat = link ? Math.round((70 * link.bytes) / matrix.most) : 0;
                    return (
                      <td
                        key={to}
                        style={{ background: `color-mix(in srgb, ${theme.communication} ${heat}%, transparent)` }}
                        title={link ? formatDuration(link.time) : ""}
                      >
                        {link ? formatBytes(link.bytes) : ""}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <DataTable name="communication" table={table} trace={rank} testId="communication-table" />
    </div>
  );
}

export const communicationView: View = { name: "communication", title: "view.communication", component: Communication };
