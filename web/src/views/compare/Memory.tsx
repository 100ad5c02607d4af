import { useMemo } from "react";

import { Chart } from "../../app/Chart";
import { columnOf } from "../../app/columns";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { Grid, type GridColumn } from "../../app/Grid";
import { useTable } from "../../app/useTable";
import { formatBytes, formatDuration } from "../../base/format";
import { KINDS, curvesOf } from "../memory/curves";
import { curveStatement } from "../memory/statements";
import { Legend } from "./Legend";
import { type Pair, useSteps } from "./useSteps";
import type { Table } from "./words";

/** Curves of a side; 0 is where its chosen step begins. */
function useOwn(trace: number, begin: number) {
  const base = useAppState((s) => s.session!.base);
  const table = useTable({ sql: curveStatement(), trace, limit: 100_000 });
  const curves = useMemo(
    () => curvesOf(table.data?.rows ?? [], (ts) => Number(ts - BigInt(base)) - begin),
    [table.data, base, begin],
  );
  return { table, curves };
}

/** What was alive at the peak of each side, by who asked for it. */
function AtPeak({ table, onName }: { table: Table; onName: (name: string) => void }) {
  const { t } = useApp();
  const columns: GridColumn[] = [
    { name: t("compare.owner"), kind: "text", width: 300 },
    { name: t("compare.new"), kind: "bytes" },
    { name: t("compare.base"), kind: "bytes" },
    { name: t("compare.diff"), kind: "bytes", title: t("compare.diff.help") },
  ];
  const all = t("compare.peak.all");
  const rows = table.rows.map((row) => {
    const cell = (name: string) => row[columnOf(table, name)] ?? null;
    const owner = cell("owner");
    return [owner === "all" ? all : owner, cell("comparison_bytes"), cell("base_bytes"), cell("diff_bytes")];
  });
  return (
    <Grid
      label={t("compare.peak")}
      testId="compare-peaks"
      columns={columns}
      rows={rows}
      onRow={([owner]) => owner !== all && onName(String(owner))}
    />
  );
}

/** Memory of both sides over each other, by the begin of their chosen steps. */
export function MemoryCurves(of: { pair: Pair; table: Table | undefined; onName: (name: string) => void }) {
  const { store, t, theme } = useApp();
  const chosen = useAppState((s) => s.detail["compare.kind"]);
  const { failed, known } = useSteps(of.pair);
  const comparison = useOwn(of.pair.comparison.id, known?.comparison[known.at.comparison]?.begin ?? 0);
  const base = useOwn(of.pair.base.id, known?.base[known.at.base]?.begin ?? 0);
  const sides = [comparison, base];
  const kinds = KINDS.filter((kind) => sides.some(({ curves }) => curves.some((curve) => curve.kind === kind)));
  const kind = kinds.find((name) => name === chosen) ?? kinds[0];
  const curves = sides.flatMap(({ curves }, side) =>
    curves
      .filter((curve) => curve.kind === kind)
      .map(({ owner, points }, i) => ({
        name: `${t(side === 0 ? "compare.new" : "compare.base")}${owner === "" ? "" : ` · ${owner}`}`,
        color: theme.lines[(side + 2 * i) % theme.lines.length]!,
        points,
      })),
  );
  const isKnown = known !== null && sides.every(({ table }) => table.data !== undefined);
  const hasPeaks = of.table !== undefined && of.table.rows.length > 0;
  if (isKnown && curves.length === 0 && !hasPeaks) {
    return <Empty title={t("memory.none")} help={t("memory.none.help")} />;
  }
  return (
    <>
      {[...failed, comparison.table, base.table].map((query, i) => (
        <Failure key={i} of={query} />
      ))}
      {isKnown && curves.length > 0 && (
        <>
          <div className="toolbar">
            {kinds.map((name) => (
              <button
                key={name}
                aria-pressed={name === kind}
                onClick={() => store.set({ detail: { ...store.get().detail, "compare.kind": name } })}
              >
                {t(`memory.${name}`)}
              </button>
            ))}
            <Legend curves={curves} />
            <span className="muted">{t("compare.zero")}</span>
          </div>
          <div className="chart">
            <Chart
              testId="compare-memory"
              label={t("compare.memory")}
              shape="steps"
              binary
              curves={curves}
              formatX={(x) => formatDuration(Math.round(x))}
              formatY={formatBytes}
            />
          </div>
        </>
      )}
      {hasPeaks && <AtPeak table={of.table!} onName={of.onName} />}
    </>
  );
}
