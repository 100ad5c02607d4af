import { useMemo, useState } from "react";

import { api } from "../api/client";
import type { ColumnMessage, TableMessage } from "../api/messages";
import { formatCount } from "../base/format";
import type { Language } from "../i18n";
import { word } from "../i18n/words";
import { useApp, useAppState } from "./context";
import { type CellKind, Grid, type GridColumn } from "./Grid";
import { jump, targetOf } from "./jump";
import { type Sort, WHOLE, groupStatement, rowsStatement } from "./pages";
import { type Row, filterRows, groupRows, orderOfGroups } from "./rows";
import { usePages, useTable } from "./useTable";

/** Units are in the names: _ns are durations, unless they are moments. */
export function kindOf(name: string, type: string): CellKind {
  if (/(^|_)ts$|^(start|end|peak|ts)_ns$/.test(name)) return "moment";
  if (type === "text" || type === "boolean") return type;
  if (/(^dur$|_ns$|^dur_|^total$|^self$|^average$)/.test(name)) return "duration";
  if (/bytes$/.test(name) || /^total_(allocated|reserved|active)$/.test(name)) return "bytes";
  return type === "integer" ? (/(_id|^id|^pid|^tid|rank|pointer|^depth)$/.test(name) ? "text" : "integer") : "real";
}

/** Numbers that lead to the timeline, and say nothing to people. */
const QUIET = /^((owner_|launch_)?slice_id|task_id|mark_id|pointer|request_id)$/;

const labelOf = (language: Language, name: string) =>
  word(language, name.replace(/_(ns|bytes)$/, "").replaceAll("_", " "));

interface Properties {
  /** All rows; or the first of them, where `sql` gives the others. */
  table: TableMessage | null;
  trace: number;
  sql?: string;
  testId?: string;
  /** Where to keep filter and columns. */
  name: string;
  /** As the user's statement has them: no moments, no quiet columns. */
  plain?: boolean;
}

/** An answer of the server with filter, groups, choice of columns and export; rows lead to the timeline. */
export function DataTable({ table, trace, sql, testId, name, plain = false }: Properties) {
  const { store, actions, t } = useApp();
  const language = useAppState((s) => s.language);
  const session = useAppState((s) => s.session)!;
  const filter = useAppState((s) => s.detail[`f.${name}`] ?? "");
  const hiddenText = useAppState((s) => s.detail[`c.${name}`]);
  const groupText = useAppState((s) => s.detail[`g.${name}`] ?? "");
  const [exporting, setExporting] = useState(false);
  const names = useMemo(() => table?.columns.map((column) => column.name) ?? [], [table]);
  const by = names.indexOf(groupText);
  const hidden = useMemo(
    () =>
      new Set(
        hiddenText !== undefined ? hiddenText.split(",") : plain ? [] : names.filter((column) => QUIET.test(column)),
      ),
    [hiddenText, names, plain],
  );
  const sortText = useAppState((s) => s.detail[`s.${name}`] ?? "");
  const sort = useMemo((): Sort | null => {
    const column = names.indexOf(sortText.replace(/^-/, ""));
    return column < 0 || by >= 0 ? null : { column, descending: sortText.startsWith("-") };
  }, [sortText, names, by]);
  const setSort = ({ column, descending }: Sort) => keep(`s.${name}`, `${descending ? "-" : ""}${names[column] ?? ""}`);
  const pages = usePages(table, sql, trace, filter, sort, setSort);
  const kinds = useMemo(
    () =>
      table?.columns.map((column): CellKind => {
        const kind = kindOf(column.name, column.type);
        return plain && kind === "moment" ? "text" : kind;
      }) ?? [],
    [table, plain],
  );
  const sums = useMemo(
    () => kinds.map((kind) => kind === "duration" || kind === "bytes" || kind === "integer"),
    [kinds],
  );
  const first = useMemo(
    () =>
      orderOfGroups(
        sums,
        kinds.map((kind) => kind === "duration" || kind === "bytes"),
      ),
    [sums, kinds],
  );
  const grouped = useTable(
    table && pages && by >= 0 && sql
      ? { sql: groupStatement(sql, table.columns, filter, by, sums, first), trace, limit: WHOLE }
      : null,
  );
  const view = useMemo(() => {
    if (!table) return null;
    if (by < 0) {
      const columns = table.columns.map((c, i): GridColumn => ({
        name: plain ? c.name : labelOf(language, c.name),
        title: c.name,
        kind: hidden.has(c.name) ? "hidden" : kinds[i]!,
        ...(kinds[i] === "text" ? { width: widthOf(c) } : kinds[i] === "moment" ? { width: 150 } : {}),
      }));
      return { rows: pages ?? filterRows(table.rows, names, filter), columns };
    }
    const columns: GridColumn[] = [
      { name: labelOf(language, names[by]!), kind: kinds[by]!, width: 320 },
      { name: t("column.count"), kind: "integer" },
    ];
    names.forEach(
      (column, i) => sums[i] && columns.push({ name: labelOf(language, column), title: column, kind: kinds[i]! }),
    );
    const rows = pages ? (grouped?.rows ?? []) : groupRows(filterRows(table.rows, names, filter), by, sums, first);
    return { rows, columns };
  }, [table, names, kinds, sums, first, hidden, pages, grouped, filter, by, plain, t, language]);
  const keep = (key: string, value: string | undefined) => {
    const detail = { ...store.get().detail };
    if (value === undefined || value === "") delete detail[key];
    else detail[key] = value;
    store.set({ detail });
  };
  const save = async (format: string) => {
    setExporting(true);
    try {
      const shown = names.flatMap((column, i) => (hiddenText !== undefined && hidden.has(column) ? [] : [i]));
      const all = shown.length === names.length;
      const statement = rowsStatement(sql!, table!.columns, filter, sort, all ? null : shown);
      const address = URL.createObjectURL(await api.exportTable(statement, trace, format));
      const link = document.createElement("a");
      link.href = address;
      link.download = `sonde-${name}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      actions.fail(error);
    } finally {
      setExporting(false);
    }
  };
  const lead = (row: Row) => {
    if (by >= 0 || !table) return;
    const target = targetOf(table.columns, row, trace, session);
    if (target) jump(target, store, actions);
    else if (trace < 0 && names.some((column) => column === "slice_id" || column === "ts"))
      store.set({ error: t("tables.norank") });
  };
  const offset = useAppState((s) => s.offsets[trace] ?? 0);
  const rowCount = view ? ("count" in view.rows ? view.rows.count : view.rows.length) : 0;
  return (
    <div className="half">
      <div className="toolbar">
        <input
          className="filter"
          value={filter}
          placeholder={`${t("tables.filter")}: mm count>10`}
          aria-label={t("tables.filter")}
          onChange={(event) => keep(`f.${name}`, event.target.value)}
        />
        <label>
          {t("tables.group")}{" "}
          <select value={by} onChange={(event) => keep(`g.${name}`, names[Number(event.target.value)])}>
            <option value={-1}>{t("tables.nogroup")}</option>
            {names.map((column, i) => (
              <option key={column} value={i}>
                {column}
              </option>
            ))}
          </select>
        </label>
        <details className="chooser">
          <summary>{t("tables.columns")}</summary>
          <div>
            {names.map((column) => (
              <label key={column}>
                <input
                  type="checkbox"
                  checked={!hidden.has(column)}
                  onChange={() => {
                    const next = new Set(hidden);
                    if (!next.delete(column)) next.add(column);
                    // An empty choice is one too.
                    keep(`c.${name}`, [...next].join(",") || ",");
                  }}
                />
                {column}
              </label>
            ))}
          </div>
        </details>
        {sql !== undefined && table && (
          <select
            value=""
            aria-label={t("tables.export")}
            disabled={exporting}
            onChange={(event) => void save(event.target.value)}
          >
            <option value="">{t(exporting ? "tables.exporting" : "tables.export")}</option>
            {["csv", "xlsx", "parquet"].map((format) => (
              <option key={format}>{format}</option>
            ))}
          </select>
        )}
        <span className="muted" data-testid="row-count">
          {view ? t("tables.rows", formatCount(rowCount)) : "…"}
        </span>
        {table && !table.complete && !pages && (
          <span className="warn">{t("tables.more", formatCount(table.rows.length))}</span>
        )}
      </div>
      {view && (
        <Grid
          {...(testId ? { testId } : {})}
          columns={view.columns}
          rows={view.rows}
          {...(by < 0 ? { sort, onSort: setSort } : {})}
          onRow={lead}
          offset={offset}
        />
      )}
    </div>
  );
}

function widthOf(column: ColumnMessage): number {
  if (/^(name|advice|value|path|message|module|sql)$/.test(column.name)) return 320;
  return column.type === "text" ? 130 : 84;
}
