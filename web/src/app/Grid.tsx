import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";

import type { Cell } from "../api/messages";
import { formatBytes, formatCount, formatDuration, formatNumber, formatShare } from "../base/format";
import { type Row, sortRows } from "./rows";

export type CellKind = "text" | "integer" | "real" | "boolean" | "duration" | "bytes" | "share" | "hidden";

export interface GridColumn {
  name: string;
  kind: CellKind;
  width?: number;
}

const HEIGHT = 24;

export function cellText(kind: CellKind, cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "number" || kind === "text") return String(cell);
  if (kind === "duration") return formatDuration(cell);
  if (kind === "bytes") return formatBytes(cell);
  if (kind === "share") return formatShare(cell);
  if (kind === "integer") return Math.abs(cell) < 1e15 ? formatCount(cell) : String(cell);
  return formatNumber(cell);
}

interface Properties {
  columns: readonly GridColumn[];
  rows: readonly Row[];
  onRow?: (row: Row) => void;
  selected?: number;
  testId?: string;
}

/** A table of any length: only the rows that are seen exist. Headers sort, arrows and Enter work. */
export function Grid({ columns, rows, onRow, selected = -1, testId }: Properties) {
  const [sort, setSort] = useState<{ column: number; descending: boolean } | null>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(300);
  const [current, setCurrent] = useState(selected);
  const body = useRef<HTMLDivElement>(null);
  const sorted = useMemo(() => (sort ? sortRows(rows, sort.column, sort.descending) : rows), [rows, sort]);
  const shown = columns.map((column, i) => ({ ...column, at: i })).filter((column) => column.kind !== "hidden");
  const template = shown
    .map((c) => (c.width ? `minmax(${Math.min(c.width, 120)}px, ${c.width}fr)` : "minmax(84px, 110fr)"))
    .join(" ");

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setHeight(entry!.contentRect.height));
    observer.observe(body.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setCurrent(selected), [selected]);
  useEffect(() => {
    if (current < 0 || !body.current) return;
    const y = current * HEIGHT;
    if (y < body.current.scrollTop) body.current.scrollTop = y;
    else if (y + HEIGHT > body.current.scrollTop + body.current.clientHeight)
      body.current.scrollTop = y + HEIGHT - body.current.clientHeight;
  }, [current]);

  const click = (column: number, kind: CellKind) =>
    setSort((now) =>
      now?.column === column ? { column, descending: !now.descending } : { column, descending: kind !== "text" },
    );
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step) setCurrent((now) => Math.min(sorted.length - 1, Math.max(0, now + step)));
    else if (event.key === "Enter" && sorted[current]) onRow?.(sorted[current]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const first = Math.max(0, Math.floor(top / HEIGHT) - 4);
  const last = Math.min(sorted.length, Math.ceil((top + height) / HEIGHT) + 4);
  return (
    <div className="grid" data-testid={testId} data-rows={sorted.length} role="grid" aria-rowcount={sorted.length}>
      <div className="grid-head" style={{ gridTemplateColumns: template }} role="row">
        {shown.map((column) => (
          <button
            key={column.at}
            role="columnheader"
            className={column.kind === "text" ? "" : "right"}
            onClick={() => click(column.at, column.kind)}
            aria-sort={sort?.column === column.at ? (sort.descending ? "descending" : "ascending") : "none"}
          >
            {column.name}
            {sort?.column === column.at && (sort.descending ? " ↓" : " ↑")}
          </button>
        ))}
      </div>
      <div
        className="grid-body"
        ref={body}
        tabIndex={0}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div style={{ height: sorted.length * HEIGHT, position: "relative" }}>
          {sorted.slice(first, last).map((row, i) => (
            <div
              key={first + i}
              role="row"
              className={`grid-row${first + i === current ? " current" : ""}${onRow ? " active" : ""}`}
              style={{ top: (first + i) * HEIGHT, gridTemplateColumns: template }}
              onClick={() => {
                setCurrent(first + i);
                onRow?.(row);
              }}
            >
              {shown.map((column) => {
                const text = cellText(column.kind, row[column.at] ?? null);
                return (
                  <span key={column.at} role="gridcell" title={text} className={column.kind === "text" ? "" : "right"}>
                    {text}
                  </span>
                );
              })}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
