import { useMemo } from "react";

import { api } from "../../api/client";
import { CellMap } from "../../app/CellMap";
import { useApp, useAppState } from "../../app/context";
import { DataTable, tableOf } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Sentences, answerOf, useCluster } from "../../app/useCluster";
import type { View } from "../../app/view";
import { mix } from "../../base/color";
import { formatBytes, formatDuration, formatShare } from "../../base/format";
import { rangeOf } from "../ranks/times";
import { type RankLink, linksOf, transportsOf } from "./links";

const KINDS = ["bandwidth", "bytes", "time"] as const;
type Kind = (typeof KINDS)[number];
const TABLES = ["links", "sum", "operations"] as const;

const COLUMNS = [
  "transport:text",
  "src_rank:integer",
  "dst_rank:integer",
  "size_bytes:real",
  "transmit_ns:real",
  "gb per s:real",
  "above median link share:real",
];

const textOf = (link: RankLink, kind: Kind) =>
  kind === "bytes"
    ? formatBytes(link.bytes)
    : kind === "time"
      ? formatDuration(link.time)
      : link.bandwidth === null
        ? "–"
        : `${link.bandwidth.toFixed(2)} GB/s`;

/** Transfers of one kind of link, from each rank to each. */
function Matrix({ links, kind }: { links: readonly RankLink[]; kind: Kind }) {
  const { store, t, theme } = useApp();
  const ranks = useMemo(() => [...new Set(links.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b), [links]);
  const cells = useMemo(() => new Map(links.map((link) => [`${link.from} ${link.to}`, link])), [links]);
  const at = (row: number, column: number) => cells.get(`${ranks[row]!} ${ranks[column]!}`);
  const value = (link: RankLink) => link[kind] ?? Number.NaN;
  const [low, high] = rangeOf([links.map(value).filter(Number.isFinite)]);
  return (
    <CellMap
      label={t("communication.matrix")}
      testId="links-map"
      corner={`${t("communication.from")} \\ ${t("communication.to")}`}
      rows={ranks.map(String)}
      columns={ranks.map(String)}
      color={(row, column) => {
        const link = at(row, column);
        if (!link) return undefined;
        const share = high > low ? (value(link) - low) / (high - low) : 1;
        // Of bandwidth the least is what one looks for.
        return kind === "bandwidth"
          ? Number.isFinite(share)
            ? mix(theme.faint, theme.exposed, 1 - share)
            : theme.faint
          : mix(theme.faint, theme.communication, share);
      }}
      text={(row, column) => {
        const link = at(row, column);
        return link ? textOf(link, kind) : "";
      }}
      tip={({ row, column }) => {
        const link = at(row, column);
        return (
          <>
            <b>
              {t("lane.rank", ranks[row]!)} → {t("lane.rank", ranks[column]!)}
              {link ? ` · ${link.transport}` : ""}
            </b>
            {link && (
              <dl>
                {KINDS.map((name) => (
                  <div key={name}>
                    <dt>{t(`communication.${name}`)}</dt>
                    <dd>{textOf(link, name)}</dd>
                  </div>
                ))}
                {link.above !== null && (
                  <div>
                    <dt>{t("links.above")}</dt>
                    <dd>{formatShare(link.above, 1)}</dd>
                  </div>
                )}
              </dl>
            )}
          </>
        );
      }}
      onCell={({ row, column }) => {
        if (!at(row, column)) return;
        const filter = `src_rank=${ranks[row]!} dst_rank=${ranks[column]!}`;
        store.set({ detail: { ...store.get().detail, "links.table": "links", "f.links": filter } });
      }}
    />
  );
}

function Links() {
  const { store, actions, t } = useApp();
  const detail = useAppState((s) => s.detail);
  const set = (key: string, value: string) => store.set({ detail: { ...store.get().detail, [key]: value } });
  const slow = useCluster("slow_link");
  const matrix = useCluster("communication_matrix_sum");
  const table = matrix.table("ClusterCommunicationMatrix");
  const links = useMemo(() => (table ? linksOf(table) : []), [table]);
  const transports = useMemo(() => transportsOf(links), [links]);
  const transport = transports.find((name) => name === detail["links.transport"]) ?? transports[0];
  const kind = KINDS.find((name) => name === detail["links.kind"]) ?? "bandwidth";
  const shown = TABLES.find((name) => name === detail["links.table"]) ?? "links";
  const own = useMemo(() => links.filter((link) => link.transport === transport), [links, transport]);
  const rows = useMemo(
    () =>
      tableOf(
        COLUMNS,
        links.map((l) => [l.transport, l.from, l.to, l.bytes, l.time, l.bandwidth, l.above]),
      ),
    [links],
  );
  const operations = slow.table("SlowLinkOps");
  const sums = slow.table("SlowLinkSum");
  if (matrix.missing !== "" && slow.missing !== "")
    return <Empty title={t("links.none")} help={t("links.none.help")} />;
  const isBusy = !matrix.message || !slow.message;
  if (isBusy && !matrix.failed.error && !slow.failed.error) return <Empty title={t("cluster.busy")} help="" />;
  const chosen = shown === "sum" ? sums : operations;
  const cell = (row: readonly unknown[], name: string) =>
    row[operations!.columns.findIndex((column) => column.name === name)];
  return (
    <div className="page">
      <div className="statements">
        <Sentences of={[slow, matrix]} />
      </div>
      <div className="toolbar">
        <b>{t("communication.matrix")}</b>
        {transports.map((name) => (
          <button key={name} aria-pressed={transport === name} onClick={() => set("links.transport", name)}>
            {name}
          </button>
        ))}
        <span className="grow" />
        {KINDS.map((name) => (
          <button key={name} aria-pressed={kind === name} onClick={() => set("links.kind", name)}>
            {t(`communication.${name}`)}
          </button>
        ))}
      </div>
      {links.length > 0 ? <Matrix links={own} kind={kind} /> : <p className="hint">{t("communication.nomatrix")}</p>}
      <div className="toolbar">
        {TABLES.map((name) => (
          <button key={name} aria-pressed={shown === name} onClick={() => set("links.table", name)}>
            {t(`links.${name}`)}
          </button>
        ))}
      </div>
      {shown === "links" ? (
        <DataTable
          name="links"
          testId="links"
          trace={-1}
          answer={rows}
          onRow={() => store.set({ view: "communication", detail: { ...store.get().detail, communication: "op" } })}
        />
      ) : (
        <DataTable
          name={`links-${shown}`}
          testId={`links-${shown}`}
          trace={-1}
          answer={answerOf(chosen)}
          {...(chosen ? { about: chosen.columns } : {})}
          onRow={(row) => {
            if (shown === "sum") return set("links.table", "operations");
            const trace = slow.traceOf.get(Number(cell(row, "rank")));
            const name = String(cell(row, "op_name"));
            if (trace === undefined) return;
            const sql = `SELECT slice_id FROM communication_op WHERE name = '${name.replaceAll("'", "''")}' ORDER BY ts LIMIT 1`;
            api.sql(sql, trace).then(({ rows: [found] }) => {
              if (typeof found?.[0] === "number") void actions.select(trace, found[0], true, true);
              else void actions.searchName(name);
            }, actions.fail);
          }}
        />
      )}
    </div>
  );
}

export const linksView: View = { name: "links", title: "view.links", component: Links, under: "ranks" };
