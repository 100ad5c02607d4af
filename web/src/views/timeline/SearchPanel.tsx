import { useApp, useAppState } from "../../app/context";
import { Grid } from "../../app/Grid";
import { formatCount } from "../../base/format";

export function SearchPanel() {
  const { actions, t } = useApp();
  const hits = useAppState((s) => s.hits);
  const hit = useAppState((s) => s.hit);
  const session = useAppState((s) => s.session)!;
  if (!hits) return <p className="hint">{t("search.hint")}: /</p>;
  if (hits.total === 0) return <p className="hint">{t("search.none")}</p>;
  const zero = actions.data().begin;
  const rankOf = (trace: number) => {
    const rank = session.traces[trace]?.rank ?? -1;
    return rank >= 0 ? rank : null;
  };
  const lane = (trace: number, track: number) => session.traces[trace]?.tracks.find((x) => x.id === track)?.name ?? "";
  return (
    <div className="column wide">
      {hits.slices.length < hits.total && (
        <div className="caption">{t("search.first", formatCount(hits.slices.length), formatCount(hits.total))}</div>
      )}
      <Grid
        testId="hits"
        selected={hit}
        columns={[
          { name: t("column.rank"), kind: "integer", width: 60 },
          { name: t("column.name"), kind: "text", width: 420 },
          { name: t("column.start"), kind: "duration" },
          { name: t("column.duration"), kind: "duration" },
          { name: t("column.lane"), kind: "text", width: 200 },
        ]}
        rows={hits.slices.map((s, i) => [rankOf(s.trace), s.name, s.ts - zero, s.dur, lane(s.trace, s.track), i])}
        onRow={(row) => actions.goToHit(Number(row[5]))}
      />
    </div>
  );
}
