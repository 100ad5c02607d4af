import { useMemo } from "react";

import { Chart } from "../../app/Chart";
import { columnOf } from "../../app/columns";
import { useApp, useAppState } from "../../app/context";
import { Grid, type GridColumn } from "../../app/Grid";
import { formatDuration, formatNumber, formatShare } from "../../base/format";
import type { Table, Word } from "./words";
import { Legend } from "./Legend";

const NS_PER_MS = 1e6;
const ofNumber = (name: string): GridColumn => ({ name, kind: "text", width: 110 });

/** Times of requests and sizes of batches of two servers: in numbers, and the chosen one as shares of requests. */
export function Requests({ table, word, distribution }: { table: Table; word: Word; distribution: Table }) {
  const { store, t, theme } = useApp();
  const detail = useAppState((s) => s.detail);
  const at = (name: string) => columnOf(table, name);
  const measures = table.rows.map((row) => String(row[at("measure")]));
  const measure = measures.find((name) => name === detail["compare.measure"]) ?? measures[0]!;
  const isTime = table.rows[measures.indexOf(measure)]?.[at("unit")] === "ms";
  const text = (value: number, inMs: boolean) => (inMs ? formatDuration(value * NS_PER_MS) : formatNumber(value));
  const columns: GridColumn[] = [
    { name: t("compare.measure"), kind: "text", width: 120 },
    ...[t("compare.new"), t("compare.base"), t("compare.diff")].map(ofNumber),
    ...["P50", "P99"].flatMap((name) =>
      [t("compare.new"), t("compare.base")].map((side) => ofNumber(`${side}, ${name}`)),
    ),
    { name: t("compare.verdict"), kind: "text", width: 130 },
  ];
  const values = ["comparison_mean", "base_mean", "diff", "comparison_p50", "base_p50", "comparison_p99", "base_p99"];
  const rows = table.rows.map((row) => [
    word(row[at("measure")]),
    ...values.map((name) => text(Number(row[at(name)]), row[at("unit")] === "ms")),
    word(row[at("verdict")]),
  ]);
  const curves = useMemo(() => {
    const place = (name: string) => columnOf(distribution, name);
    const own = distribution.rows.filter((row) => row[place("measure")] === measure);
    return (["comparison", "base"] as const).map((side, i) => ({
      name: t(side === "base" ? "compare.base" : "compare.new"),
      color: theme.lines[i]!,
      points: own.map((row): [number, number] => [
        Number(row[place(`${side}_value`)]),
        Number(row[place("share_percent")]) / 100,
      ]),
    }));
  }, [distribution, measure, t, theme]);
  return (
    <>
      <div className="compare-requests">
        <Grid
          label={t("compare.requests")}
          testId="compare-requests"
          columns={columns}
          rows={rows}
          onRow={([shown]) => {
            const name = measures.find((candidate) => word(candidate) === shown)!;
            store.set({ detail: { ...store.get().detail, "compare.measure": name } });
          }}
        />
      </div>
      <div className="toolbar">
        <b>{t("compare.share", word(measure))}</b>
        <Legend curves={curves} />
      </div>
      <div className="chart fills">
        <Chart
          testId="compare-distribution"
          label={t("compare.share", word(measure))}
          curves={curves}
          formatX={(x) => text(x, isTime)}
          formatY={(share) => formatShare(share, 0)}
        />
      </div>
    </>
  );
}
