import { useMemo } from "react";

import { api } from "../../api/client";
import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { DataTable, tableOf } from "../../app/DataTable";
import { TraceList } from "../../app/Opening";
import { isReady } from "../../app/traces";
import { Partial, useRanks } from "../../app/useRanks";
import type { View } from "../../app/view";
import { formatCount, formatDuration, formatShare } from "../../base/format";
import { Findings } from "./Findings";
import { Parallel } from "./Parallel";
import { Top } from "./Top";
import { type RankTotal, type Step, hasCopies, longest, rankTotals, stepsOf, wholeOf, writtenStepsOf } from "./steps";
import { useWritten } from "./useWritten";

/** Beyond it only the longest steps have bars; all are in the table below. */
const MOST_BARS = 64;

function Steps({ steps }: { steps: readonly Step[] }) {
  const { store, actions, t, theme } = useApp();
  const chosen = useAppState((s) => s.detail["step"] ?? "");
  const names = [...new Set(steps.map((step) => step.step))];
  const wanted = chosen === "" ? steps : steps.filter((step) => step.step === chosen);
  const shown = useMemo(() => longest(wanted, MOST_BARS), [steps, chosen]); // eslint-disable-line react-hooks/exhaustive-deps
  const whole = Math.max(1, ...shown.map(wholeOf));
  const has = hasCopies(steps);
  const parts = [
    ["computing", theme.computing] as const,
    ["exposed", theme.exposed] as const,
    ...(has ? [["copying", theme.copying] as const, ["idle", theme.free] as const] : [["free", theme.free] as const]),
  ];
  return (
    <>
      <div className="toolbar">
        <b>{t("summary.steps")}</b>
        <span className="legend">
          {parts.map(([name, color]) => (
            <span key={name}>
              <i style={{ background: color }} />
              {t(`summary.${name}`)}
            </span>
          ))}
        </span>
        {shown.length < wanted.length && (
          <span className="muted">{t("summary.longest", formatCount(shown.length), formatCount(wanted.length))}</span>
        )}
        <span className="grow" />
        {names.length > 1 && (
          <label>
            {t("summary.step")}{" "}
            <select
              value={chosen}
              onChange={(event) => store.set({ detail: { ...store.get().detail, step: event.target.value } })}
            >
              <option value="">{t("summary.allsteps")}</option>
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Bars
        testId="steps"
        whole={whole}
        onRow={(_, at) => {
          const { trace, step } = shown[at]!;
          // The first of that number: ranks of a server's engines number theirs alike.
          const sql = `SELECT slice_id FROM step WHERE step_id = ${Number(step) || -1} ORDER BY ts LIMIT 1`;
          api.sql(sql, trace).then(({ rows }) => {
            if (typeof rows[0]?.[0] === "number") void actions.select(trace, rows[0][0], true, true);
          }, actions.fail);
        }}
        rows={shown.map((step) => ({
          label: [step.rank, step.device && t("lane.device", step.device), `${t("summary.step")} ${step.step}`]
            .filter(Boolean)
            .join(" · "),
          parts: parts.map(([name, color]) => ({
            color,
            value: step[name],
            title: `${t(`summary.${name}`)} ${formatDuration(step[name])} (${formatShare(step[name] / Math.max(1, wholeOf(step)), 1)})`,
          })),
          text: formatDuration(wholeOf(step)),
        }))}
      />
    </>
  );
}

function Facts() {
  const { t } = useApp();
  const session = useAppState((s) => s.session)!;
  const ready = session.traces.filter(isReady);
  const span = Math.max(0, ...ready.map((trace) => trace.end)) - Math.min(...ready.map((trace) => trace.begin));
  const hosts = new Set(ready.map((trace) => trace.host).filter(Boolean));
  const facts: [string, string][] = [
    [t("summary.ranks"), formatCount(ready.length)],
    [t("summary.hosts"), formatCount(Math.max(1, hosts.size))],
    [t("summary.span"), formatDuration(Math.max(0, span))],
    [t("summary.slices"), formatCount(ready.reduce((sum, trace) => sum + trace.slices, 0))],
    [
      t("summary.threads"),
      formatCount(ready.reduce((sum, trace) => sum + trace.tracks.filter((x) => x.kind === "thread").length, 0)),
    ],
    [t("summary.issues"), formatCount(ready.reduce((sum, trace) => sum + trace.issues, 0))],
  ];
  return (
    <div className="peaks" data-testid="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <span className="muted">{name}</span>
          <b>{value}</b>
        </div>
      ))}
    </div>
  );
}

const rankColumns = (copies: boolean) => [
  "rank:text",
  "steps:integer",
  "average_ns:real",
  "computing_ns:integer",
  "communication, not overlapped_ns:integer",
  ...(copies ? ["copying_ns:integer", "idle_ns:integer"] : ["free_ns:integer"]),
  "computing above median share:real",
  "trace:integer",
];

function Summary() {
  const { store, t } = useApp();
  const asked = useRanks("step_trace");
  const { answers, done } = asked;
  const written = useWritten(answers, done);
  const steps = useMemo(
    () =>
      answers.flatMap(({ trace, label, table }) => {
        const beside = written.tables.get(trace.id);
        return beside ? writtenStepsOf(label, trace.id, beside) : stepsOf(label, trace.id, table);
      }),
    [answers, written.tables],
  );
  const totals = useMemo(() => rankTotals(steps), [steps]);
  const ranks = useMemo(() => {
    const copies = hasCopies(steps);
    const rest = (r: RankTotal) => (copies ? [r.copying, r.idle] : [r.free]);
    return tableOf(
      rankColumns(copies),
      totals.map((r) => [r.rank, r.steps, r.average, r.computing, r.exposed, ...rest(r), r.slower, r.trace]),
    );
  }, [steps, totals]);
  return (
    <div className="page scrolls">
      <Facts />
      <p className="warn partial">
        <Partial of={asked} />
      </p>
      {[asked.failed, written.failed].map((failed, i) => failed && <Failure key={i} of={failed} />)}
      <Findings />
      {done && !asked.failed && steps.length === 0 && (
        <div className="toolbar">
          <span className="muted">
            {t("summary.none")}. {t("summary.none.help")}
          </span>
        </div>
      )}
      {steps.length > 0 && <Steps steps={steps} />}
      {totals.length > 0 && (
        <div className="rank-grid" style={{ height: Math.min(12, totals.length) * 24 + 72 }}>
          <DataTable
            name="ranks"
            testId="ranks"
            trace={-1}
            answer={ranks}
            onRow={(row) =>
              store.set({ view: "operators", detail: { ...store.get().detail, rank: String(row.at(-1)) } })
            }
          />
        </div>
      )}
      <Parallel />
      <Top />
      <div className="toolbar">
        <b>{t("summary.facts")}</b>
      </div>
      <div style={{ padding: "0 16px" }}>
        <TraceList />
      </div>
      {!done && steps.length === 0 && answers.length === 0 && <Empty title="…" help="" />}
    </div>
  );
}

export const summaryView: View = { name: "summary", title: "view.summary", component: Summary };
