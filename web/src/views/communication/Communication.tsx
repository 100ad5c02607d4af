import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { equals } from "../../app/filter";
import { useRank } from "../../app/RankSelect";
import { isReady } from "../../app/traces";
import { Partial, useRanks } from "../../app/useRanks";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatBytes, formatCount, formatDuration } from "../../base/format";
import { GROUPS, groupLabels, sumBy } from "./groups";
import { HeatMap } from "./HeatMap";
import { matrixOf } from "./matrix";
import { operationsStatement } from "./operations";

const KEYS = ["group", "op", "rank"] as const;

function Communication() {
  const { store, t, theme } = useApp();
  const [rank, select] = useRank(false);
  const chosen = useAppState((s) => s.detail["communication"] ?? "group");
  const by = KEYS.find((key) => key === chosen) ?? "group";
  const operations = useRanks("communication", true);
  const links = useRanks("communication_matrix", true);
  const groups = useTable(GROUPS);
  const labels = useMemo(() => groupLabels(groups.data), [groups.data]);
  const several = useAppState((s) => s.session!.traces.filter(isReady).length > 1);
  // What a rank waited is known by all of them.
  const sql = operationsStatement(several ? rank : null);
  const asking = several ? -1 : rank;
  const table = useTable({ sql, trace: asking, limit: 20_000 });
  const matrix = useMemo(() => matrixOf(links.answers.map((answer) => answer.table)), [links.answers]);
  const sums = useMemo(() => sumBy(operations.answers, by), [operations.answers, by]);
  const parts = [
    ["transit", theme.communication],
    ["wait", theme.exposed],
    ["idle", theme.free],
  ] as const;
  // A sum leads to its operations below: of all kinds where it is that of a rank.
  const showCalls = (key: string) => {
    const trace = operations.answers.find(({ label }) => label === key)?.trace.id;
    const filter = by === "rank" ? "" : equals(by === "group" ? "group_name" : "kind", key);
    const chosen = by === "rank" && trace !== undefined ? { rank: String(trace) } : {};
    store.set({ detail: { ...store.get().detail, "f.communication": filter, ...chosen } });
  };
  if (operations.done && !operations.failed && sums.length === 0)
    return <Empty title={t("communication.none")} help={t("communication.none.help")} />;
  return (
    <div className="page">
      <div className="toolbar">
        {KEYS.map((key) => (
          <button
            key={key}
            aria-pressed={by === key}
            onClick={() => store.set({ detail: { ...store.get().detail, communication: key } })}
          >
            {t(`communication.by${key}`)}
          </button>
        ))}
        <span className="legend">
          {parts.map(([name, color]) => (
            <span key={name}>
              <i style={{ background: color }} />
              {t(`communication.${name}`)}
            </span>
          ))}
        </span>
        <span className="grow" />
        <span className="warn">
          <Partial of={operations} />
        </span>
        {select}
      </div>
      {[operations.failed, links.failed, groups].map((failed, i) => failed && <Failure key={i} of={failed} />)}
      {operations.notices.map((notice) => (
        <p key={notice} className="muted partial" data-testid="communication-notice">
          {notice}
        </p>
      ))}
      <div className="columns">
        <div className="column" style={{ flex: 1.3 }}>
          <Bars
            rows={sums.map(([label, times]) => ({
              label: by === "group" ? (labels.get(label) ?? `${t("communication.group")} ${label}`) : label,
              title: label,
              parts: parts.map(([name, color]) => ({
                color,
                value: times[name],
                title: `${t(`communication.${name}`)} ${formatDuration(times[name])}`,
              })),
              text: `${formatDuration(times.all)} · ${formatCount(times.count)} × · ${formatBytes(times.bytes)}`,
            }))}
            whole={Math.max(1, ...sums.map(([, times]) => times.transit + times.wait + times.idle))}
            testId="communication-groups"
            onRow={(row) => showCalls(row.title ?? row.label)}
          />
        </div>
        <div className="column">
          <HeatMap matrix={matrix} />
        </div>
      </div>
      <DataTable name="communication" answer={table} trace={asking} sql={sql} testId="communication-table" />
    </div>
  );
}

export const communicationView: View = { name: "communication", title: "view.communication", component: Communication };
