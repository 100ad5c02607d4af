import { useMemo } from "react";

import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { Chart } from "../../app/Chart";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { equals } from "../../app/filter";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { colorIndex } from "../../base/color";
import { formatBytes, formatCount, formatDuration, formatShare } from "../../base/format";
import { curvesOf } from "./curves";
import { type Range, blockStatement, curveStatement, ownerStatement } from "./statements";

function Memory() {
  const { store, actions, t, theme } = useApp();
  const session = useAppState((s) => s.session)!;
  const detail = useAppState((s) => s.detail);
  const marks = useAppState((s) => s.marks);
  const [rank, select] = useRank(false);
  const by = detail["memoryby"] === "module" ? "module" : "op";
  const off = new Set((detail["memoryoff"] ?? "").split("|"));
  const curve = useTable({ sql: curveStatement(), trace: rank, limit: 100_000 });
  const zero = actions.data().begin;
  // The page's moments are those of the rank moved by its offset.
  const offset = useAppState((s) => s.offsets[rank] ?? 0);
  const absolute = (at: number) => (BigInt(session.base) + BigInt(Math.round(at - offset))).toString();
  const [from, to] = (detail["memory"] ?? "").split(",").map(Number);
  const range: Range =
    detail["memory"] && from !== undefined && to !== undefined ? [absolute(from), absolute(to)] : null;
  const sql = blockStatement(range);
  const blocks = useTable({ sql, trace: rank, limit: WHOLE });
  const owners = useTable({ sql: ownerStatement(range, by), trace: rank });
  const put = (part: Record<string, string>) => store.set({ detail: { ...store.get().detail, ...part } });
  const setRange = (a: number, b: number) => put({ memory: `${Math.round(a)},${Math.round(b)}` });

  const curves = useMemo(() => {
    const base = BigInt(session.base);
    const made = curvesOf(curve.data?.rows ?? [], (ts) => Number(ts - base) + offset);
    return made.map(({ owner, kind, points, peak }, at) => ({
      name: `${owner ? `${owner} ` : ""}${t(`memory.${kind}`)}`,
      color: theme.lines[at % theme.lines.length]!,
      filled: kind === "allocated",
      points,
      peak,
    }));
  }, [curve.data, theme, t, session.base, offset]);

  if (curve.data && curves.length === 0) return <Empty title={t("memory.none")} help={t("memory.none.help")} />;
  const whole = owners.data?.rows.reduce((sum, row) => sum + Number(row[1]), 0) ?? 0;
  return (
    <div className="page">
      <div className="peaks" data-testid="memory-peaks">
        {curves.map((c) => (
          <button
            key={c.name}
            className={off.has(c.name) ? "off" : ""}
            aria-pressed={!off.has(c.name)}
            onClick={() => {
              const next = new Set(off);
              if (!next.delete(c.name)) next.add(c.name);
              put({ memoryoff: [...next].filter(Boolean).join("|") });
            }}
          >
            <span className="legend">
              <span>
                <i style={{ background: c.color }} />
                {c.name} · {t("memory.peak")}
              </span>
            </span>
            <b>{formatBytes(c.peak)}</b>
          </button>
        ))}
        <span className="grow" />
        {select}
      </div>
      <div className="chart">
        <Failure of={curve} />
        {curve.data && (
          <Chart
            testId="memory-curve"
            label={t("view.memory")}
            shape="steps"
            binary
            zero={zero}
            curves={curves.filter((c) => !off.has(c.name))}
            formatX={(x) => formatDuration(x - zero)}
            formatY={formatBytes}
            chosen={range ? [from!, to!] : null}
            onRange={setRange}
            onPoint={(at) => setRange(at, at)}
          />
        )}
      </div>
      <div className="toolbar">
        <b>
          {range
            ? t(
                "memory.alive",
                from === to
                  ? formatDuration(from! - zero)
                  : `${formatDuration(from! - zero)} – ${formatDuration(to! - zero)}`,
              )
            : t("memory.blocks")}
        </b>
        <span className="muted" data-testid="memory-alive">
          {owners.data ? formatBytes(whole) : "…"}
        </span>
        {range ? (
          <button onClick={() => put({ memory: "" })}>{t("memory.reset")}</button>
        ) : (
          <span className="muted">{t("memory.hint")}</span>
        )}
        <span className="grow" />
        {marks.some((mark) => mark.end > mark.begin) && (
          <select
            aria-label={t("memory.mark")}
            value=""
            onChange={(event) => {
              const mark = marks[Number(event.target.value)]!;
              setRange(mark.begin, mark.end);
            }}
          >
            <option value="">{t("memory.mark")}</option>
            {marks.map(
              (mark, i) =>
                mark.end > mark.begin && (
                  <option key={i} value={i}>
                    {mark.name}
                  </option>
                ),
            )}
          </select>
        )}
        {(["op", "module"] as const).map((kind) => (
          <button key={kind} aria-pressed={by === kind} onClick={() => put({ memoryby: kind })}>
            {t(`memory.by${kind}`)}
          </button>
        ))}
      </div>
      <div className="columns">
        <div className="column" style={{ flex: 0.55 }}>
          <Failure of={owners} />
          {owners.data && (
            <Bars
              testId="memory-owners"
              whole={Number(owners.data.rows[0]?.[1] ?? 1)}
              onRow={(_, at) =>
                put({ "f.memory": equals(by === "op" ? "name" : "module", String(owners.data!.rows[at]![0])) })
              }
              rows={owners.data.rows.map((row) => ({
                label: String(row[0]) || t("memory.unknown"),
                parts: [
                  {
                    color: theme.bars[colorIndex(String(row[0]), theme.bars.length)]!,
                    value: Number(row[1]),
                    title: t("memory.count", formatCount(Number(row[2]))),
                  },
                ],
                text: `${formatBytes(Number(row[1]))}  ${formatShare(Number(row[1]) / Math.max(1, whole), 1)}`,
              }))}
            />
          )}
        </div>
        <div className="column">
          <DataTable name="memory" answer={blocks} trace={rank} sql={sql} testId="memory-blocks" />
        </div>
      </div>
    </div>
  );
}

export const memoryView: View = { name: "memory", title: "view.memory", component: Memory };
