import { useMemo } from "react";

import { api } from "../../api/client";
import { useApp, useAppState } from "../../app/context";
import { Curves } from "../../app/Curves";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatBytes, formatDuration } from "../../base/format";

const POINTS = 1500;
const KINDS = ["allocated", "reserved", "active"] as const;

/** The highest value in each of 1500 parts of time, by owner of the memory. */
export function curveStatement(): string {
  const part = `(ts - (SELECT min(ts) FROM memory_event)) * ${POINTS} // greatest((SELECT max(ts) - min(ts) + 1 FROM memory_event), 1)`;
  return (
    `SELECT coalesce(component, '') AS owner, ${part} AS part, min(ts) AS ts, max(total_allocated) AS allocated, ` +
    `max(total_reserved) AS reserved, max(total_active) AS active FROM memory_event GROUP BY 1, 2 ORDER BY 1, 2`
  );
}

/** Blocks that live at some moment of the range; nanoseconds of the epoch as text. */
export function blockStatement(range: [string, string] | null): string {
  const where = range
    ? `WHERE coalesce(alloc_ts, 0) <= ${range[1]} AND coalesce(free_ts, 9223372036854775807) >= ${range[0]} `
    : "";
  return (
    "SELECT b.owner_slice_id, coalesce(b.name, s.name) AS name, f.module, size_bytes, alloc_ts, free_ts, free_ts - alloc_ts AS life_ns, pointer " +
    "FROM memory_block b LEFT JOIN slice s ON s.slice_id = b.owner_slice_id LEFT JOIN framework_op f ON f.slice_id = b.owner_slice_id " +
    `${where}ORDER BY size_bytes DESC`
  );
}

function Memory() {
  const { store, actions, t, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const detail = useAppState((s) => s.detail);
  const [rank, select] = useRank(false);
  const curve = useTable({ sql: curveStatement(), trace: rank, limit: 100_000 });
  const zero = actions.data().begin;
  const absolute = (at: number) => (BigInt(session.base) + BigInt(Math.round(at))).toString();
  const [from, to] = (detail["memory"] ?? "").split(",").map(Number);
  const range: [string, string] | null =
    detail["memory"] && from !== undefined && to !== undefined ? [absolute(from), absolute(to)] : null;
  const sql = blockStatement(range);
  const blocks = useTable({ sql, trace: rank, limit: 100_000 });
  const setRange = (a: number, b: number) =>
    store.set({ detail: { ...store.get().detail, memory: `${Math.round(a)},${Math.round(b)}` } });

  const curves = useMemo(() => {
    const colors = [theme.accent, theme.error, theme.warning, theme.counterLine, theme.muted];
    const made: { name: string; color: string; points: [number, number][]; peak: number }[] = [];
    const owners = [...new Set(curve?.rows.map((row) => String(row[0])) ?? [])];
    for (const owner of owners) {
      KINDS.forEach((kind, i) => {
        const rows = curve!.rows.filter((row) => row[0] === owner && row[3 + i] !== null);
        const peak = rows.reduce((best, row) => Math.max(best, Number(row[3 + i])), 0);
        if (rows.length === 0 || peak === 0) return;
        const points = rows.map((row): [number, number] => [
          Number(BigInt(String(row[2])) - BigInt(session.base)),
          Number(row[3 + i]),
        ]);
        made.push({
          name: `${owner ? `${owner} ` : ""}${t(`memory.${kind}`)}`,
          color: colors[made.length % colors.length]!,
          points,
          peak,
        });
      });
    }
    return made;
  }, [curve, theme, t, session.base]);

  if (curve && curves.length === 0) return <Empty title={t("memory.none")} help={t("memory.none.help")} />;
  return (
    <div className="page">
      <div className="peaks" data-testid="memory-peaks">
        {curves.map((c) => (
          <div key={c.name}>
            <span className="legend">
              <span>
                <i style={{ background: c.color }} />
                {c.name} · {t("memory.peak")}
              </span>
            </span>
            <b>{formatBytes(c.peak)}</b>
          </div>
        ))}
        <span className="grow" />
        {select}
      </div>
      <div className="chart">
        <Curves
          testId="memory-curve"
          steps
          curves={curves}
          formatX={(x) => formatDuration(x - zero)}
          formatY={formatBytes}
          onRange={setRange}
          onPoint={(at) => setRange(at, at)}
        />
      </div>
      <div className="caption">
        {range
          ? t(
              "memory.alive",
              from === to
                ? formatDuration(from! - zero)
                : `${formatDuration(from! - zero)} – ${formatDuration(to! - zero)}`,
            )
          : t("memory.blocks")}
        {range && (
          <button className="link" onClick={() => store.set({ detail: { ...detail, memory: "" } })}>
            {t("memory.reset")}
          </button>
        )}
      </div>
      <DataTable name="memory" table={blocks} trace={rank} csv={api.csvAddress(sql, rank)} testId="memory-blocks" />
    </div>
  );
}

export const memoryView: View = { name: "memory", title: "view.memory", component: Memory };
