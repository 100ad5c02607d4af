import { useMemo } from "react";

import { CellMap, type Place } from "../../app/CellMap";
import { labelOf } from "../../app/cells";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { showStep } from "../../app/showStep";
import { type OfMode, Sentences, answerOf, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { formatDuration } from "../../base/format";
import type { ClusterTableMessage } from "../../api/messages";
import { MapTools, signed, useMapChoice, useMapColors } from "./MapTools";
import { RankMap } from "./RankMap";
import { aboveMedian, byMean, rangeOf, timesOf, valuesOf } from "./times";

/** The step that is selected in the timeline, as a rank and a number. */
function useSelectedStep(of: OfMode): { rank: number; step: number } | null {
  const slice = useAppState((s) => s.slice);
  const step = slice?.facts.find(({ group, key }) => group === "step" && key === "step_id");
  if (!slice || !step) return null;
  const rank = [...of.traceOf].find(([, trace]) => trace === slice.slice.trace)?.[0];
  return rank === undefined ? null : { rank, step: Number(step.value) };
}

function HeatMap({ of, table }: { of: OfMode; table: ClusterTableMessage }) {
  const { store, actions, t } = useApp();
  const language = useAppState((s) => s.language);
  const choice = useMapChoice();
  const { measure, isCompared, isSorted } = choice;
  const times = useMemo(() => timesOf(table), [table]);
  const absolute = useMemo(() => valuesOf(table, times, measure), [table, times, measure]);
  const values = useMemo(() => (isCompared ? aboveMedian(absolute) : absolute), [absolute, isCompared]);
  const order = useMemo(
    () => (isSorted ? byMean(absolute) : times.ranks.map((_, at) => at)),
    [absolute, isSorted, times],
  );
  const [low, high] = useMemo(() => rangeOf(values), [values]);
  const selected = useSelectedStep(of);
  const rows = useMemo(() => order.map((at) => t("lane.rank", times.ranks[at]!)), [order, times, t]);
  const columns = useMemo(() => times.steps.map((step) => (step < 0 ? "–" : String(step))), [times]);
  const marked = new Set(
    (of.message?.findings ?? []).flatMap(({ severity, rank }) =>
      severity === "info" || rank < 0 ? [] : [order.indexOf(times.ranks.indexOf(rank))],
    ),
  );
  const { colorOf, scale } = useMapColors(choice, low, high);
  const value = (row: number, column: number) => values[order[row]!]?.[column] ?? Number.NaN;
  const placeOf = ({ rank, step }: { rank: number; step: number }): Place => ({
    row: order.indexOf(times.ranks.indexOf(rank)),
    column: times.steps.indexOf(step),
  });
  const tip = ({ row, column }: Place) => {
    const rank = times.ranks[order[row]!]!;
    const cells = times.row(rank, times.steps[column]!);
    return (
      <>
        <b>
          {rows[row]} · {t("summary.step")} {columns[column]}
        </b>
        <dl>
          {table.columns.map(
            ({ name, role }, at) =>
              role === "measure" && (
                <div key={name}>
                  <dt>{labelOf(language, name)}</dt>
                  <dd>{cells ? formatDuration(Number(cells[at] ?? 0)) : "–"}</dd>
                </div>
              ),
          )}
        </dl>
      </>
    );
  };
  return (
    <>
      <MapTools choice={choice} low={low} high={high} scale={scale} />
      <CellMap
        label={t("ranks.map", t(`ranks.${measure}`))}
        testId="ranks-map"
        corner={t("summary.step")}
        rows={rows}
        columns={columns}
        marked={marked}
        chosen={selected && placeOf(selected)}
        color={(row, column) => colorOf(value(row, column))}
        text={(row, column) => signed(isCompared, value(row, column))}
        tip={tip}
        onCell={({ row, column }) => {
          const trace = of.traceOf.get(times.ranks[order[row]!]!);
          if (trace !== undefined) showStep(trace, times.steps[column]!, store, actions);
        }}
      />
    </>
  );
}

function Ranks() {
  return useAppState((s) => s.session!.maps.length > 0) ? <RankMap /> : <ReadRanks />;
}

/** All traces of the session are its ranks. */
function ReadRanks() {
  const { store, actions, t } = useApp();
  const summary = useCluster("cluster_time_summary");
  const late = useCluster("slow_rank");
  const skew = useCluster("collective_skew");
  const table = summary.table("ClusterTimeSummary");
  const number = (row: readonly unknown[], name: string) =>
    Number(row[table!.columns.findIndex((column) => column.name === name)]);
  if (summary.missing !== "") return <Empty title={t("ranks.none")} help={t("ranks.none.help")} />;
  if (!table) return summary.failed.error ? <Sentences of={[summary]} /> : <Empty title={t("cluster.busy")} help="" />;
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[late, summary, skew]} />
      </div>
      <HeatMap of={{ ...summary, message: late.message }} table={table} />
      <DataTable
        name="ranks-steps"
        testId="ranks-table"
        trace={-1}
        answer={answerOf(table)}
        about={table.columns}
        onRow={(row) => {
          const trace = summary.traceOf.get(number(row, "rank"));
          if (trace !== undefined) showStep(trace, number(row, "step_id"), store, actions);
        }}
      />
    </div>
  );
}

export const ranksView: View = {
  name: "ranks",
  title: "view.ranks",
  subtitle: "view.steps",
  component: Ranks,
  isUseful: (session) => (session?.traces.length ?? 0) > 1 || (session?.maps.length ?? 0) > 0,
  showsMaps: true,
};
