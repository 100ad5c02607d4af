import { useMemo } from "react";

import { CellMap, type Place } from "../../app/CellMap";
import { labelOf } from "../../app/cells";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { showStep } from "../../app/showStep";
import { type OfMode, Sentences, answerOf, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { mix } from "../../base/color";
import { formatDuration } from "../../base/format";
import type { ClusterTableMessage } from "../../api/messages";
import { MEASURES, type Measure, aboveMedian, byMean, rangeOf, timesOf, valuesOf } from "./times";

const NAMES = Object.keys(MEASURES) as Measure[];

/** The step that is selected in the timeline, as a rank and a number. */
function useSelectedStep(of: OfMode): { rank: number; step: number } | null {
  const slice = useAppState((s) => s.slice);
  const step = slice?.facts.find(({ group, key }) => group === "step" && key === "step_id");
  if (!slice || !step) return null;
  const rank = [...of.traceOf].find(([, trace]) => trace === slice.slice.trace)?.[0];
  return rank === undefined ? null : { rank, step: Number(step.value) };
}

function HeatMap({ of, table }: { of: OfMode; table: ClusterTableMessage }) {
  const { store, actions, t, theme } = useApp();
  const language = useAppState((s) => s.language);
  const detail = useAppState((s) => s.detail);
  const measure = NAMES.find((name) => name === detail["measure"]) ?? "computing";
  const isCompared = detail["middle"] === "1";
  const isSorted = detail["order"] === "1";
  const set = (key: string, value: string) => store.set({ detail: { ...store.get().detail, [key]: value } });
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
  const tone = {
    step: theme.accent,
    computing: theme.computing,
    exposed: theme.exposed,
    wait: theme.communication,
    free: theme.muted,
  }[measure];
  const colorOf = (value: number) => {
    if (!Number.isFinite(value)) return undefined;
    if (!isCompared) return mix(theme.faint, tone, high > low ? (value - low) / (high - low) : 1);
    const most = Math.max(Math.abs(low), Math.abs(high), 1);
    return mix(theme.faint, value > 0 ? theme.exposed : theme.communication, Math.abs(value) / most);
  };
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
  const signed = (number: number) => `${isCompared && number > 0 ? "+" : ""}${formatDuration(number)}`;
  return (
    <>
      <div className="toolbar">
        {NAMES.map((name) => (
          <button key={name} aria-pressed={measure === name} onClick={() => set("measure", name)}>
            {t(`ranks.${name}`)}
          </button>
        ))}
        <span className="scale" data-testid="scale">
          {signed(low)}
          <i
            style={{
              background: isCompared
                ? `linear-gradient(90deg, ${theme.communication}, ${theme.faint}, ${theme.exposed})`
                : `linear-gradient(90deg, ${theme.faint}, ${tone})`,
            }}
          />
          {signed(high)}
        </span>
        <span className="grow" />
        <button
          aria-pressed={isCompared}
          title={t("ranks.median.help")}
          onClick={() => set("middle", isCompared ? "" : "1")}
        >
          {t("ranks.median")}
        </button>
        <button aria-pressed={isSorted} onClick={() => set("order", isSorted ? "" : "1")}>
          {t("ranks.sorted")}
        </button>
      </div>
      <CellMap
        label={t("ranks.map", t(`ranks.${measure}`))}
        testId="ranks-map"
        corner={t("summary.step")}
        rows={rows}
        columns={columns}
        marked={marked}
        chosen={selected && placeOf(selected)}
        color={(row, column) => colorOf(value(row, column))}
        text={(row, column) => signed(value(row, column))}
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
  isUseful: (session) => (session?.traces.length ?? 0) > 1,
};
