import { useMemo, useState } from "react";

import type { TableMessage } from "../api/messages";
import { formatCount } from "../base/format";
import { useApp, useAppState } from "./context";
import { type CellKind, Grid, type GridColumn } from "./Grid";
import { jump, targetOf } from "./jump";
import { filterRows, groupRows } from "./rows";

/** Units are in the names: _ns are durations, unless they are moments. */
export function kindOf(name: string, type: string): CellKind {
  if (type === "text" || type === "boolean") return type;
  if (/(^dur$|_ns$|^dur_|^total$|^self$|^average$)/.test(name) && !/^(start|end|peak|ts)_ns$/.test(name))
    return "duration";
  if (/bytes$/.test(name) || /^total_(allocated|reserved|active)$/.test(name)) return "bytes";
  return type === "integer"
    ? /(_id|^id|^pid|^tid|rank|pointer|^ts|_ts|^depth)$/.test(name)
      ? "text"
      : "integer"
    : "real";
}

interface Properties {
  table: TableMessage | null;
  trace: number;
  csv?: string;
  testId?: string;
  /** Where to keep the filter. */
  name: string;
}

/** An answer of the server with filter, groups and export; rows lead to the timeline. */
export function DataTable({ table, trace, csv, testId, name }: Properties) {
  const { store, actions, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const filter = useAppState((s) => s.detail[`f.${name}`] ?? "");
  const [group, setGroup] = useState(-1);
  const names = useMemo(() => table?.columns.map((column) => column.name) ?? [], [table]);
  const by = group < names.length ? group : -1;
  const view = useMemo(() => {
    if (!table) return null;
    const kinds = table.columns.map((column) => kindOf(column.name, column.type));
    const rows = filterRows(table.rows, names, filter);
    if (by < 0)
      return {
        rows,
        columns: table.columns.map((c, i): GridColumn => ({
          name: c.name,
          kind: kinds[i]!,
          ...(c.type === "text" ? { width: /name|advice|value|path|message/.test(c.name) ? 320 : 130 } : {}),
        })),
      };
    const sums = kinds.map((kind) => kind === "duration" || kind === "bytes" || kind === "integer");
    const columns: GridColumn[] = [
      { name: names[by]!, kind: kinds[by]!, width: 320 },
      { name: t("column.count"), kind: "integer" },
    ];
    names.forEach((column, i) => sums[i] && columns.push({ name: column, kind: kinds[i]! }));
    return { rows: groupRows(rows, by, sums), columns };
  }, [table, names, filter, by, t]);
  const setFilter = (text: string) => store.set({ detail: { ...store.get().detail, [`f.${name}`]: text } });
  return (
    <div className="half">
      <div className="toolbar">
        <input
          className="filter"
          value={filter}
          placeholder={`${t("tables.filter")}: mm count>10`}
          aria-label={t("tables.filter")}
          onChange={(event) => setFilter(event.target.value)}
        />
        <label>
          {t("tables.group")}{" "}
          <select value={by} onChange={(event) => setGroup(Number(event.target.value))}>
            <option value={-1}>{t("tables.nogroup")}</option>
            {names.map((column, i) => (
              <option key={column} value={i}>
                {column}
              </option>
            ))}
          </select>
        </label>
        {csv && (
          <a href={csv} download="sonde.csv">
            {t("tables.export")}
          </a>
        )}
        <span className="muted" data-testid="row-count">
          {view ? t("tables.rows", formatCount(view.rows.length)) : "…"}
        </span>
        {table && !table.complete && <span className="warn">{t("tables.more", formatCount(table.rows.length))}</span>}
      </div>
      {view && (
        <Grid
          {...(testId ? { testId } : {})}
          columns={view.columns}
          rows={view.rows}
          onRow={(row) => by < 0 && table && jump(targetOf(table.columns, row, trace, session), store, actions)}
        />
      )}
    </div>
  );
}
