import { useEffect, useMemo, useState } from "react";

import { api } from "../../api/client";
import type { AreaMessage, SliceListMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Grid, type GridColumn } from "../../app/Grid";
import { formatCount, formatDuration } from "../../base/format";

export function AreaPanel() {
  const { actions, t } = useApp();
  const area = useAppState((s) => s.area);
  const [totals, setTotals] = useState<AreaMessage | null>(null);
  const [name, setName] = useState("");
  const [list, setList] = useState<SliceListMessage | null>(null);

  useEffect(() => {
    setTotals(null);
    setName("");
    if (area) api.area(area.lanes, area.begin, area.end).then(setTotals, actions.fail);
  }, [area, actions]);

  useEffect(() => {
    setList(null);
    if (area && name !== "") api.occurrences(area.lanes, area.begin, area.end, name).then(setList, actions.fail);
  }, [area, name, actions]);

  const whole = useMemo(() => totals?.rows.reduce((sum, row) => sum + row.self, 0) ?? 0, [totals]);
  if (!area) return <p className="hint">{t("panel.area.empty")}</p>;
  if (!totals) return <p className="hint">…</p>;
  const columns: GridColumn[] = [
    { name: t("column.name"), kind: "text", width: 300 },
    { name: t("column.count"), kind: "integer" },
    { name: t("column.total"), kind: "duration" },
    { name: t("column.self"), kind: "duration" },
    { name: t("column.share"), kind: "share" },
    { name: t("column.average"), kind: "duration" },
    { name: t("column.min"), kind: "duration" },
    { name: t("column.max"), kind: "duration" },
  ];
  const rows = totals.rows.map((r) => [
    r.name,
    r.count,
    r.total,
    r.self,
    whole > 0 ? r.self / whole : 0,
    r.total / r.count,
    r.min,
    r.max,
  ]);
  const zero = actions.data().begin;
  return (
    <div className="columns">
      <div className="column wide">
        <div className="caption" data-testid="area-caption">
          {t("area.slices", formatCount(totals.slices), formatDuration(area.end - area.begin))}
        </div>
        <Grid testId="area-grid" columns={columns} rows={rows} onRow={(row) => setName(String(row[0]))} />
      </div>
      {list && (
        <div className="column">
          <div className="caption">
            {t("area.occurrences", formatCount(list.total))} · {name}
          </div>
          <Grid
            columns={[
              { name: t("column.start"), kind: "duration" },
              { name: t("column.duration"), kind: "duration" },
              { name: "slice_id", kind: "hidden" },
            ]}
            rows={list.slices.map((s) => [s.ts - zero, s.dur, s.id, s.trace])}
            onRow={(row) => void actions.select(Number(row[3]), Number(row[2]), true)}
          />
        </div>
      )}
    </div>
  );
}
