import { useMemo, useState } from "react";

import { api } from "../api/client";
import type { Cell, ResultColumnMessage, TableMessage } from "../api/messages";
import { formatCount } from "../base/format";
import { type CellKind, type Column, barOf, isQuiet, kindOf, labelOf } from "./cells";
import { useApp, useAppState } from "./context";
import { type Answer, Failure } from "./Failure";
import { equals, keeps, parseFilter } from "./filter";
import { Grid, type GridColumn } from "./Grid";
import { jump, targetOf } from "./jump";
import { type Sort, WHOLE, groupStatement, rowsStatement } from "./pages";
import { type Row, groupRows, orderOfGroups } from "./rows";
import { usePages, useTable } from "./useTable";

interface Properties {
  /** All rows; or the first of them, where `sql` gives the others. */
  answer: Answer<TableMessage>;
  trace: number;
  sql?: string;
  testId?: string;
  /** Where to keep filter and columns. */
  name: string;
  /** As the user's statement has them: no moments, no quiet columns. */
  plain?: boolean;
  /** What a row leads to, where that is not its slice or moment. */
  onRow?: (row: Row) => void;
  selected?: number;
  /** What the result declares of its columns: how cells are written, what leads where, what has a bar. */
  about?: readonly ResultColumnMessage[];
  /** Columns whose numbers keep all digits that matter. */
  digits?: ReadonlySet<string>;
  /** A class of the row, where it is no group. */
  toneOf?: (row: Row) => string;
}

/** The part of the address that a table keeps: a filter, a group, hidden columns, an order. */
const useKept = (part: "f" | "g" | "c" | "s", name: string) => useAppState((s) => s.detail[`${part}.${name}`]);

/** A table of the page: filter, groups, choice of columns and export; rows lead to the timeline. */
export function DataTable(properties: Properties) {
  const { answer, trace, sql, testId, name, plain = false, onRow, selected, about, digits, toneOf } = properties;
  const { store, actions, t } = useApp();
  const language = useAppState((s) => s.language);
  const session = useAppState((s) => s.session)!;
  const filterText = useKept("f", name) ?? "";
  const groupText = useKept("g", name) ?? "";
  const sortText = useKept("s", name) ?? "";
  const hiddenText = useKept("c", name);
  const table = answer.data;
  const columns = useMemo((): Column[] => {
    const declared = new Map(about?.map((column) => [column.name, column]));
    return table?.columns.map((column) => ({ ...declared.get(column.name), ...column })) ?? [];
  }, [table, about]);
  const names = useMemo(() => columns.map((column) => column.name), [columns]);
  const offset = useAppState((s) => s.offsets[trace] ?? 0);
  const zero = BigInt(session.base) + BigInt(Math.round(actions.data().begin - offset));
  const filter = useMemo(() => parseFilter(columns, filterText, zero), [columns, filterText, zero]);
  const by = names.indexOf(groupText);
  const hidden = useMemo(
    () =>
      new Set(
        hiddenText !== undefined ? hiddenText.split(",") : plain ? [] : columns.filter(isQuiet).map(({ name }) => name),
      ),
    [hiddenText, columns, plain],
  );
  const sort = useMemo((): Sort | null => {
    const column = names.indexOf(sortText.replace(/^-/, ""));
    return column < 0 || by >= 0 ? null : { column, descending: sortText.startsWith("-") };
  }, [sortText, names, by]);
  const keep = (part: Record<string, string | undefined>) => {
    const detail = { ...store.get().detail };
    for (const [key, value] of Object.entries(part)) {
      if (value === undefined || value === "") delete detail[`${key}.${name}`];
      else detail[`${key}.${name}`] = value;
    }
    store.set({ detail });
  };
  const setSort = ({ column, descending }: Sort) => keep({ s: `${descending ? "-" : ""}${names[column] ?? ""}` });
  const pages = usePages(table, sql, trace, filter, sort, setSort);
  const kinds = useMemo(
    () =>
      columns.map((c): CellKind => {
        if (digits?.has(c.name)) return "digits";
        return plain && kindOf(c) === "moment" ? "text" : kindOf(c);
      }),
    [columns, plain, digits],
  );
  const sums = useMemo(() => kinds.map((kind) => ["duration", "bytes", "integer"].includes(kind)), [kinds]);
  const first = orderOfGroups(
    sums,
    kinds.map((kind) => kind === "duration" || kind === "bytes"),
  );
  const grouped = useTable(
    table && pages.rows && by >= 0 && sql
      ? { sql: groupStatement(sql, columns, filter, by, sums, first), trace, limit: WHOLE }
      : null,
  );
  const left = useMemo(() => table?.rows.filter((row) => keeps(filter, row)) ?? [], [table, filter]);
  const groups = useMemo(
    () => (by < 0 ? [] : (grouped.data?.rows ?? groupRows(left, by, sums, first))),
    [by, grouped.data, left, sums, first],
  );
  const rows = by < 0 ? (pages.rows ?? left) : groups;
  const held = table?.rows;
  const shown = useMemo(
    () =>
      by < 0
        ? columns.map((c, i) =>
            columnOf(
              c,
              hidden.has(c.name) ? "hidden" : kinds[i]!,
              plain ? c.name : labelOf(language, c.name),
              barOf(c, i, held ?? []),
            ),
          )
        : [
            { name: labelOf(language, names[by]!), kind: kinds[by]!, width: 320 },
            { name: t("column.count"), kind: "integer" as const },
            ...columns.flatMap((c, i) =>
              sums[i] ? [{ name: labelOf(language, c.name), title: c.name, kind: kinds[i]! }] : [],
            ),
          ],
    [by, columns, names, hidden, kinds, sums, plain, held, language, t],
  );
  const lead = (row: Row) => {
    // A group leads to its rows.
    if (by >= 0) return keep({ g: undefined, f: `${filterText} ${equals(names[by]!, String(row[0] ?? ""))}`.trim() });
    if (onRow) return onRow(row);
    const target = targetOf(columns, row, trace, session);
    const called = row[names.indexOf("name")];
    if (target) jump(target, store, actions);
    else if (trace < 0 && names.some((column) => column === "slice_id" || column === "ts"))
      store.set({ error: t("tables.norank") });
    else if (typeof called === "string" && !plain) void actions.searchName(called);
  };
  const count = "count" in rows ? rows.count : rows.length;
  return (
    <div className="half">
      <div className="toolbar">
        <input
          className="filter"
          value={filterText}
          placeholder={`${t("tables.filter")}: mm dur>1ms`}
          aria-label={t("tables.filter")}
          aria-invalid={filter.problems.length > 0}
          onChange={(event) => keep({ f: event.target.value })}
        />
        <label>
          {t("tables.group")}{" "}
          <select value={by} onChange={(event) => keep({ g: names[Number(event.target.value)] })}>
            <option value={-1}>{t("tables.nogroup")}</option>
            {names.map((column, i) => (
              <option key={column} value={i}>
                {plain ? column : labelOf(language, column)}
              </option>
            ))}
          </select>
        </label>
        <Columns
          all={columns.map((c) => [c.name, plain ? c.name : labelOf(language, c.name)])}
          hidden={hidden}
          // An empty choice is one too.
          onChange={(next) => keep({ c: [...next].join(",") || "," })}
        />
        {sql !== undefined && table && (
          <Export
            name={name}
            trace={trace}
            statement={() => {
              const visible = names.flatMap((c, i) => (hiddenText !== undefined && hidden.has(c) ? [] : [i]));
              return rowsStatement(sql, columns, filter, sort, visible.length === names.length ? null : visible);
            }}
          />
        )}
        <span className="muted" data-testid="row-count">
          {table ? t("tables.rows", formatCount(count)) : answer.error ? "" : "…"}
        </span>
        {table && !table.complete && !pages.rows && (
          <span className="warn">{t("tables.more", formatCount(table.rows.length))}</span>
        )}
        {filter.problems.map(([key, ...values], i) => (
          <span key={i} className="error" role="status">
            {t(key, ...values)}
          </span>
        ))}
      </div>
      <Failure of={answer} />
      {pages.failed && <Failure of={pages.failed} />}
      <Failure of={grouped} />
      {table && (
        <Grid
          {...(testId ? { testId } : {})}
          label={name}
          columns={shown}
          rows={rows}
          {...(by < 0 ? { sort, onSort: setSort } : {})}
          {...(selected === undefined || sort ? {} : { selected })}
          onRow={lead}
          {...(toneOf && by < 0 ? { toneOf } : {})}
          zero={zero}
        />
      )}
    </div>
  );
}

function columnOf(column: Column, kind: CellKind, name: string, bar: number): GridColumn {
  const { meaning, unit } = column;
  const title = [meaning ? `${column.name}: ${meaning}` : column.name, unit && `(${unit})`].filter(Boolean).join(" ");
  const wide = /^(name|advice|value|path|message|module|sql)$/.test(column.name);
  // A name of one letter is that of a mark.
  const width =
    name.length === 1
      ? 30
      : kind === "moment"
        ? 150
        : kind !== "text"
          ? undefined
          : wide
            ? 320
            : column.type === "text"
              ? 130
              : 84;
  return { name, title, kind, ...(width === undefined ? {} : { width }), ...(bar > 0 ? { bar } : {}) };
}

/** Which columns are shown, by name and label. */
function Columns(properties: {
  all: readonly (readonly [string, string])[];
  hidden: ReadonlySet<string>;
  onChange: (hidden: ReadonlySet<string>) => void;
}) {
  const { all, hidden, onChange } = properties;
  const { t } = useApp();
  return (
    <details className="chooser">
      <summary>{t("tables.columns")}</summary>
      <div>
        {all.map(([column, label]) => (
          <label key={column} title={column}>
            <input
              type="checkbox"
              checked={!hidden.has(column)}
              onChange={() => {
                const next = new Set(hidden);
                if (!next.delete(column)) next.add(column);
                onChange(next);
              }}
            />
            {label}
          </label>
        ))}
      </div>
    </details>
  );
}

function Export({ name, trace, statement }: { name: string; trace: number; statement: () => string }) {
  const { actions, t } = useApp();
  const [busy, setBusy] = useState(false);
  const save = async (format: string) => {
    setBusy(true);
    try {
      const address = URL.createObjectURL(await api.exportTable(statement(), trace, format));
      const link = document.createElement("a");
      link.href = address;
      link.download = `sonde-${name}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      actions.fail(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <select
      value=""
      aria-label={t("tables.export")}
      disabled={busy}
      onChange={(event) => void save(event.target.value)}
    >
      <option value="">{t(busy ? "tables.exporting" : "tables.export")}</option>
      {["csv", "xlsx", "parquet"].map((format) => (
        <option key={format}>{format}</option>
      ))}
    </select>
  );
}

/** Rows that the page has by itself, as a table: `columns` are "name:type". */
export function tableOf(columns: readonly string[], rows: Cell[][]): Answer<TableMessage> {
  const named = columns.map((column) => column.split(":") as [string, string]);
  return {
    data: { columns: named.map(([name, type]) => ({ name, type })), rows, complete: true, elapsed: 0 },
    error: null,
  };
}
