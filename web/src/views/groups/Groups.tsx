import { useMemo } from "react";

import { useApp, useAppState } from "../../app/context";
import { DataTable, tableOf } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { equals } from "../../app/filter";
import { showStep } from "../../app/showStep";
import { Sentences, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { mix, readable } from "../../base/color";
import { formatDuration } from "../../base/format";
import { MEASURES, type Measure, rangeOf } from "../ranks/times";
import { type Group, groupsOf, kindsOf, meansOf, spreadOf, stagesOf } from "./layout";

const NAMES = Object.keys(MEASURES) as Measure[];

const COLUMNS = [
  "kind:text",
  "ranks:text",
  "rank size:integer",
  "apart_ns:real",
  "least_ns:real",
  "least rank:text",
  "most_ns:real",
  "most rank:text",
  "group name:text",
];

interface Shown {
  groups: readonly Group[];
  ranks: readonly number[];
  means: ReadonlyMap<number, number>;
  kind: string;
  onRank: (rank: number) => void;
}

/** The ranks, a stage of the pipeline a line; those of one group have one colour below them. */
function Layout({ groups, ranks, means, kind, onRank }: Shown) {
  const { t, theme } = useApp();
  const stages = useMemo(() => stagesOf(groups, ranks), [groups, ranks]);
  const ofKind = groups.filter((group) => group.kind === kind);
  const places = new Map(ofKind.flatMap((group, at) => group.ranks.map((rank) => [rank, at] as const)));
  const [low, high] = rangeOf([ranks.flatMap((rank) => means.get(rank) ?? [])]);
  return (
    <div className="parallel" data-testid="parallel">
      {stages.map((stage, at) => (
        <div key={at}>
          {stages.length > 1 && <b>{t("groups.stage", at)}</b>}
          <div>
            {stage.map((rank) => {
              const value = means.get(rank);
              const place = places.get(rank);
              const background =
                value === undefined
                  ? theme.background
                  : mix(theme.faint, theme.computing, high > low ? (value - low) / (high - low) : 0);
              return (
                <button
                  key={rank}
                  title={`${t("lane.rank", rank)}${value === undefined ? "" : `: ${formatDuration(value)}`}${
                    place === undefined ? "" : ` · ${kind} ${ofKind[place]!.ranks.join(" ")}`
                  }`}
                  style={{
                    background,
                    color: readable(background),
                    borderBottomColor: place === undefined ? theme.line : theme.lines[place % theme.lines.length],
                  }}
                  onClick={() => onRank(rank)}
                >
                  {rank}
                </button>
              );
            })}
          </div>
        </div>
      ))}
    </div>
  );
}

function Groups() {
  const { store, actions, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const set = (key: string, value: string) => store.set({ detail: { ...store.get().detail, [key]: value } });
  const mapping = useCluster("communication_group_map");
  const summary = useCluster("cluster_time_summary");
  const table = mapping.table("CommunicationGroupMapping");
  const times = summary.table("ClusterTimeSummary");
  const measure = NAMES.find((name) => name === detail["measure"]) ?? "computing";
  const groups = useMemo(() => (table ? groupsOf(table) : []), [table]);
  const kinds = useMemo(() => kindsOf(groups), [groups]);
  const kind = kinds.find((name) => name === detail["kind"]) ?? kinds[0] ?? "";
  const means = useMemo(
    () => (times ? meansOf(times, MEASURES[measure]) : new Map<number, number>()),
    [times, measure],
  );
  const ranks = useMemo(() => [...mapping.traceOf.keys()].sort((a, b) => a - b), [mapping.traceOf]);
  const rows = useMemo(
    () =>
      tableOf(
        COLUMNS,
        groups
          .map((group) => ({ group, spread: spreadOf(group.ranks, means) }))
          .sort(
            (a, b) =>
              (b.spread ? b.spread.most - b.spread.least : -1) - (a.spread ? a.spread.most - a.spread.least : -1),
          )
          .map(({ group, spread }) => [
            group.kind,
            group.ranks.join(" "),
            group.ranks.length,
            spread && spread.most - spread.least,
            spread && spread.least,
            spread && spread.leastRank,
            spread && spread.most,
            spread && spread.mostRank,
            group.name,
          ]),
      ),
    [groups, means],
  );
  if (mapping.missing !== "" || (table && groups.length === 0))
    return <Empty title={t("groups.none")} help={t("groups.none.help")} />;
  if (!table) return mapping.failed.error ? <Sentences of={[mapping]} /> : <Empty title={t("cluster.busy")} help="" />;
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[mapping]} />
      </div>
      <div className="toolbar">
        <b>{t("summary.layout")}</b>
        {kinds.map((name) => (
          <button key={name} aria-pressed={kind === name} onClick={() => set("kind", name)}>
            {name || t("groups.unnamed")}
          </button>
        ))}
        <span className="grow" />
        <label>
          {t("groups.measure")}{" "}
          <select value={measure} onChange={(event) => set("measure", event.target.value)}>
            {NAMES.map((name) => (
              <option key={name} value={name}>
                {t(`ranks.${name}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Layout
        groups={groups}
        ranks={ranks}
        means={means}
        kind={kind}
        onRank={(rank) => {
          const trace = mapping.traceOf.get(rank);
          if (trace !== undefined) showStep(trace, -1, store, actions);
        }}
      />
      <DataTable
        name="groups"
        testId="groups"
        trace={-1}
        answer={rows}
        onRow={(row) =>
          store.set({
            view: "communication",
            detail: {
              ...store.get().detail,
              communication: "group",
              "f.communication": equals("group_name", String(row[8])),
            },
          })
        }
      />
    </div>
  );
}

export const groupsView: View = { name: "groups", title: "view.groups", component: Groups, under: "ranks" };
