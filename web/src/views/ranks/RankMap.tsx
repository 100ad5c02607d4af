/** Ranks and steps of a lake or a finished result by colour, a tile at a time: a click comes closer, and at last it
 * opens the trace of a rank. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";

import { api } from "../../api/client";
import { CellMap, type Place } from "../../app/CellMap";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { showStep } from "../../app/showStep";
import { isReady } from "../../app/traces";
import { MapTools, signed, useMapChoice, useMapColors } from "./MapTools";
import { WHOLE_MAP, closer, columnNames, rowNames, textOf, windowOf } from "./tile";

/** Begins to read the trace of a rank, and shows the step once that is done. */
function useOpenRank(map: number): [open: (rank: number, step: number) => void, rank: number | null] {
  const { store, actions } = useApp();
  const traces = useAppState((s) => s.session!.traces);
  const [wanted, setWanted] = useState<{ rank: number; step: number; trace: number } | null>(null);
  useEffect(() => {
    const trace = wanted && traces[wanted.trace];
    if (!trace || !(isReady(trace) || trace.state === "failed")) return;
    setWanted(null);
    if (trace.state === "failed") actions.fail(new Error(trace.message));
    else showStep(wanted.trace, wanted.step, store, actions);
  }, [wanted, traces, store, actions]);
  const open = (rank: number, step: number) =>
    void api.openRank(map, rank).then(({ trace }) => setWanted({ rank, step, trace }), actions.fail);
  return [open, wanted?.rank ?? null];
}

function OpenRank({ open }: { open: (rank: number) => void }) {
  const { t } = useApp();
  const [rank, setRank] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (rank !== "") open(Number(rank));
  };
  return (
    <form className="open-rank" onSubmit={submit}>
      <input
        type="number"
        min={0}
        value={rank}
        aria-label={t("tables.rank")}
        onChange={(event) => setRank(event.target.value)}
      />
      <button type="submit">{t("maps.open")}</button>
    </form>
  );
}

export function RankMap() {
  const { t } = useApp();
  const maps = useAppState((s) => s.session!.maps);
  const detail = useAppState((s) => s.detail);
  const choice = useMapChoice();
  const { measure, isCompared, isSorted, set } = choice;
  const map = Math.min(Number(detail["map"] ?? 0), maps.length - 1);
  const now = windowOf(detail["tile"]);
  const query = useQuery({
    queryKey: ["rank map", map, measure, isCompared, isSorted, textOf(now)],
    queryFn: ({ signal }) => api.rankMap({ map, measure, middle: isCompared, order: isSorted, ...now }, signal),
    placeholderData: keepPreviousData,
  });
  const tile = query.data;
  const [open, opening] = useOpenRank(map);
  const { colorOf, scale } = useMapColors(choice, tile?.low ?? 0, tile?.high ?? 1);
  if (!tile) return query.error ? <Failure of={query} /> : <Empty title={t("cluster.busy")} help="" />;
  if (tile.total_ranks === 0) return <Empty title={t("ranks.none")} help={t("ranks.none.help")} />;
  const columns = columnNames(tile);
  const rows = rowNames(tile, now, isSorted);
  const cell = ({ row, column }: Place) => {
    const at = row * columns.length + column;
    return { ns: tile.ns[at] ?? Number.NaN, rank: tile.ranks[at]!, step: tile.steps[at]! };
  };
  const isZoomed = textOf(now) !== textOf(WHOLE_MAP);
  const tip = (place: Place) => {
    const { ns, rank, step } = cell(place);
    const isBlock = tile.row_size > 1 || tile.column_size > 1;
    return (
      <>
        <b>
          {t("lane.rank", rank)} · {t("summary.step")} {step < 0 ? "–" : step}
        </b>
        <dl>
          <div>
            <dt>{t(`ranks.${measure}`)}</dt>
            <dd>{Number.isFinite(ns) ? signed(isCompared, ns) : "–"}</dd>
          </div>
        </dl>
        {isBlock && <p className="muted">{t("maps.block", rows[place.row]!, columns[place.column]!)}</p>}
      </>
    );
  };
  return (
    <div className="page">
      <MapTools choice={choice} measures={tile.measures} low={tile.low} high={tile.high} scale={scale}>
        {maps.length > 1 && (
          <label>
            {t("maps.run")}{" "}
            <select value={map} onChange={(event) => set({ map: event.target.value, tile: "" })}>
              {maps.map(({ name }, at) => (
                <option key={at} value={at}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        {isZoomed && <button onClick={() => set({ tile: "" })}>{t("maps.all")}</button>}
        <OpenRank open={(rank) => open(rank, -1)} />
      </MapTools>
      <Failure of={query} />
      <div className="statements">
        <p className="muted" data-testid="map-state" role="status">
          {opening !== null
            ? t("maps.opening", opening)
            : t("maps.count", maps[map]!.name, tile.total_ranks, tile.total_steps)}{" "}
          {t(maps[map]!.lake === "" ? "maps.delivered" : "maps.recorded")}
        </p>
      </div>
      <CellMap
        label={t("ranks.map", t(`ranks.${measure}`))}
        testId="ranks-map"
        corner={t("summary.step")}
        rows={rows}
        columns={columns}
        color={(row, column) => colorOf(cell({ row, column }).ns)}
        text={(row, column) => signed(isCompared, cell({ row, column }).ns)}
        tip={tip}
        onCell={(place) => {
          const next = closer(tile, now, place.row, place.column);
          const { rank, step, ns } = cell(place);
          if (next) set({ tile: textOf(next) });
          else if (Number.isFinite(ns)) open(rank, step);
        }}
      />
    </div>
  );
}
