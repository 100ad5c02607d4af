import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { SliceRefMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { DataTable, tableOf } from "../../app/DataTable";
import { Failure } from "../../app/Failure";
import { useVersions } from "../../app/useTable";
import { formatCount, formatDuration } from "../../base/format";

const TOTALS = [
  "name:text",
  "count:integer",
  "total_ns:integer",
  "self_ns:integer",
  "share:real",
  "average_ns:real",
  "min_ns:integer",
  "max_ns:integer",
];

export function AreaPanel() {
  const { actions, t } = useApp();
  const area = useAppState((s) => s.area);
  const versions = useVersions();
  const [name, setName] = useState("");
  const [named, setNamed] = useState(area);
  if (named !== area) {
    setNamed(area);
    setName("");
  }
  const key = [area, versions];
  const totals = useQuery({
    queryKey: ["area", ...key],
    queryFn: area ? ({ signal }) => actions.computed.area(area, signal) : skipToken,
    placeholderData: keepPreviousData,
  });
  const list = useQuery({
    queryKey: ["occurrences", name, ...key],
    queryFn: area && name !== "" ? () => actions.computed.occurrences(area, name) : skipToken,
  });
  const table = useMemo(() => {
    const whole = totals.data?.rows.reduce((sum, row) => sum + row.self, 0) ?? 0;
    const rows = totals.data?.rows.map((r) => [
      r.name,
      r.count,
      r.total,
      r.self,
      whole > 0 ? r.self / whole : 0,
      r.total / r.count,
      r.min,
      r.max,
    ]);
    return tableOf(TOTALS, rows ?? []);
  }, [totals.data]);
  if (!area) return <p className="hint">{t("panel.area.empty")}</p>;
  if (totals.error) return <Failure of={totals} />;
  if (!totals.data) return <p className="hint">…</p>;
  return (
    <div className="columns">
      <div className="column wide">
        <div className="caption" data-testid="area-caption">
          {t("area.slices", formatCount(totals.data.slices), formatDuration(area.end - area.begin))}
        </div>
        <DataTable name="area" testId="area-grid" answer={table} trace={-1} onRow={(row) => setName(String(row[0]))} />
      </div>
      {name !== "" && (
        <div className="column">
          <div className="caption">
            {list.data ? t("area.occurrences", formatCount(list.data.total)) : "…"} · {name}
          </div>
          <Failure of={list} />
          {list.data && (
            <SliceTable
              name="occurrences"
              slices={list.data.slices}
              onSlice={(s) => void actions.select(s.trace, s.id, true)}
            />
          )}
        </div>
      )}
    </div>
  );
}

interface SliceTableProperties {
  name: string;
  slices: readonly SliceRefMessage[];
  onSlice: (slice: SliceRefMessage, at: number) => void;
  selected?: number;
  testId?: string;
  /** With the names of slices and lanes. */
  full?: boolean;
}

/** Slices by time, as a table like others. */
export function SliceTable({ name, slices, onSlice, selected, testId, full = false }: SliceTableProperties) {
  const session = useAppState((s) => s.session)!;
  const table = useMemo(() => {
    const traceOf = (slice: SliceRefMessage) => session.traces[slice.trace];
    const lane = (s: SliceRefMessage) => traceOf(s)?.tracks.find((track) => track.id === s.track)?.name ?? "";
    const rank = (s: SliceRefMessage) => ((traceOf(s)?.rank ?? -1) < 0 ? null : traceOf(s)!.rank);
    const start = (s: SliceRefMessage) => (BigInt(session.base) + BigInt(Math.round(s.ts))).toString();
    return full
      ? tableOf(
          ["rank:integer", "name:text", "start_ns:integer", "dur:integer", "lane:text", "slice_id:integer"],
          slices.map((s, i) => [rank(s), s.name, start(s), s.dur, lane(s), i]),
        )
      : tableOf(
          ["start_ns:integer", "dur:integer", "slice_id:integer"],
          slices.map((s, i) => [start(s), s.dur, i]),
        );
  }, [session, slices, full]);
  return (
    <DataTable
      name={name}
      answer={table}
      trace={-1}
      {...(testId ? { testId } : {})}
      {...(selected === undefined ? {} : { selected })}
      onRow={(row) => onSlice(slices[Number(row.at(-1))]!, Number(row.at(-1)))}
    />
  );
}
