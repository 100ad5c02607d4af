import { useEffect, useState } from "react";

import { api } from "../../api/client";
import type { TableMessage } from "../../api/messages";
import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { TraceList } from "../../app/Opening";
import { columnOf } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatDuration } from "../../base/format";

interface Step {
  rank: string;
  step: string;
  computing: number;
  exposed: number;
  free: number;
}

export function stepsOf(rank: string, table: TableMessage): Step[] {
  const at = (name: string) => columnOf(table, name);
  return table.rows.map((row) => ({
    rank,
    step: row[at("step_id")] === null ? "–" : String(row[at("step_id")]),
    computing: Number(row[at("computing_ns")]),
    exposed: Number(row[at("not_overlapped_ns")]),
    free: Number(row[at("free_ns")]),
  }));
}

function Summary() {
  const { actions, t, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const [steps, setSteps] = useState<Step[] | null>(null);
  useEffect(() => {
    let current = true;
    const ready = session.traces.filter((trace) => trace.state === "ready").sort((a, b) => a.rank - b.rank);
    void (async () => {
      const all: Step[] = [];
      // One after another: each loads its trace once.
      for (const trace of ready) {
        const label = trace.rank >= 0 ? t("lane.rank", trace.rank) : trace.name;
        try {
          all.push(...stepsOf(label, await api.recipe(trace.id, "step_trace")));
        } catch (error) {
          actions.fail(error);
        }
        if (!current) return;
        setSteps([...all]);
      }
    })();
    return () => {
      current = false;
    };
  }, [session, actions, t]);
  const whole = Math.max(1, ...(steps ?? []).map((s) => s.computing + s.exposed + s.free));
  return (
    <div className="page">
      <div className="toolbar">
        <b>{t("summary.steps")}</b>
        <span className="legend">
          <span>
            <i style={{ background: theme.computing }} />
            {t("summary.computing")}
          </span>
          <span>
            <i style={{ background: theme.exposed }} />
            {t("summary.exposed")}
          </span>
          <span>
            <i style={{ background: theme.free }} />
            {t("summary.free")}
          </span>
        </span>
      </div>
      {steps && steps.length === 0 && <Empty title={t("summary.none")} help={t("summary.none.help")} />}
      {steps && steps.length > 0 && (
        <Bars
          testId="steps"
          whole={whole}
          rows={steps.map((s) => ({
            label: `${s.rank} · ${s.step}`,
            parts: [
              { color: theme.computing, value: s.computing, title: formatDuration(s.computing) },
              { color: theme.exposed, value: s.exposed, title: formatDuration(s.exposed) },
              { color: theme.free, value: s.free, title: formatDuration(s.free) },
            ],
            text: formatDuration(s.computing + s.exposed + s.free),
          }))}
        />
      )}
      <div className="toolbar">
        <b>{t("summary.facts")}</b>
      </div>
      <div style={{ padding: "0 16px", overflow: "auto", minHeight: 80 }}>
        <TraceList />
      </div>
    </div>
  );
}

export const summaryView: View = { name: "summary", title: "view.summary", component: Summary };
