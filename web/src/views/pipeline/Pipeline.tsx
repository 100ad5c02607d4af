import { useMemo } from "react";

import { api } from "../../api/client";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Sentences, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { type PipelinePart, partsOf } from "./parts";
import { Strips, colorOfType } from "./Strips";

function Pipeline() {
  const { store, actions, t, theme } = useApp();
  const chart = useCluster("pp_chart");
  const offsets = useAppState((s) => s.offsets);
  const base = useAppState((s) => s.session!.base);
  const table = chart.table("StepTaskInfo");
  const { traceOf } = chart;
  const shown = useMemo(
    () => (table ? partsOf(table, BigInt(base), (rank) => offsets[traceOf.get(rank) ?? -1] ?? 0) : null),
    [table, base, offsets, traceOf],
  );
  if (chart.missing !== "" || shown?.ranks.length === 0)
    return <Empty title={t("pipeline.none")} help={t("pipeline.none.help")} />;
  if (!shown) return chart.failed.error ? <Sentences of={[chart]} /> : <Empty title={t("cluster.busy")} help="" />;
  const types = [...new Set(shown.ranks.flatMap(({ parts }) => parts.map(({ type }) => type)))].sort((a, b) => a - b);
  const onPart = (rank: number, part: PipelinePart) => {
    const trace = traceOf.get(rank);
    if (trace === undefined) return;
    // The slice that is this part: of the device's lane, else of the host's.
    const from = BigInt(base) + BigInt(Math.round(part.begin - api.offsetOf(trace)));
    const sql = `SELECT slice_id FROM slice WHERE ts = ${from} AND dur = ${Math.round(part.end - part.begin)} LIMIT 1`;
    api.sql(sql, trace).then(({ rows: [row] }) => {
      if (typeof row?.[0] === "number") return void actions.select(trace, row[0], true, true);
      store.set({ view: "timeline" });
      actions.setWindow({ begin: part.begin, end: part.end }, true);
    }, actions.fail);
  };
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[chart]} />
      </div>
      <div className="toolbar">
        <span className="legend">
          {types.map((type) => (
            <span key={type}>
              <i style={{ background: colorOfType(type, theme) }} />
              {type === 0 ? t("pipeline.forward") : type === 1 ? t("pipeline.backward") : t("pipeline.part", type)}
            </span>
          ))}
        </span>
        <span className="grow" />
        <span className="muted">{t("pipeline.hint")}</span>
      </div>
      <Strips {...shown} label={t("view.pipeline")} onPart={onPart} />
    </div>
  );
}

export const pipelineView: View = { name: "pipeline", title: "view.pipeline", component: Pipeline, under: "ranks" };
