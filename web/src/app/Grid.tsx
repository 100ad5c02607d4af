import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";

import { type CellKind, cellText } from "./cells";
import type { Sort } from "./pages";
import { type Row, sortRows } from "./rows";

export interface GridColumn {
  name: string;
  kind: CellKind;
  width?: number;
  title?: string;
  /** The value of a bar as wide as the cell. */
  bar?: number;
}

/** Rows that come when they are seen, in an order that somebody else makes. */
export interface LazyRows {
  count: number;
  row: (at: number) => Row | null;
  seen: (first: number, last: number) => void;
  sort: Sort | null;
  onSort: (sort: Sort) => void;
}

/** Of rows that are those of a tree, by their place. */
export interface Tree {
  depth: (at: number) => number;
  /** Null: nothing lies below. */
  isOpen: (at: number) => boolean | null;
  toggle: (at: number) => void;
}

const HEIGHT = 24;
/** Browsers know no element that is higher: beyond it the scroll bar stands for several rows a pixel. */
const HIGHEST = 8_000_000;

interface Properties {
  columns: readonly GridColumn[];
  rows: readonly Row[] | LazyRows;
  /** Kept by the owner; else the table keeps it. */
  sort?: Sort | null;
  onSort?: (sort: Sort) => void;
  onRow?: (row: Row) => void;
  selected?: number;
  testId?: string;
  /** What the table is of. */
  label: string;
  /** Nanoseconds of the epoch that moments are counted from. */
  zero?: bigint;
  tree?: Tree;
  /** A class of the row: how it is coloured. */
  toneOf?: (row: Row) => string;
}

/** The narrowest that a column may become: numbers and headers fit, most texts too. Pixels. */
export function leastWidth(column: GridColumn, at: number, rows: readonly Row[], zero = 0n): number {
  const usual = Math.min(column.width ?? 84, 120);
  const wide = (text: string) => text.length * 7 + (text.match(/[A-Z_0-9]/g)?.length ?? 0) * 1.5;
  const texts = rows.slice(0, 60).map((row) => cellText(column.kind, row[at] ?? null, zero));
  // Two letters more: a sorted column has an arrow.
  const longest = Math.max(wide(`${column.name}  `) * 0.92, ...texts.map(wide));
  return Math.min(230, Math.max(usual, Math.ceil(longest) + 22));
}

const isLeft = (kind: CellKind) => kind === "text" || kind === "boolean";

/** A table of any length: only the rows that are seen exist. Headers sort, arrows and Enter work. */
export function Grid(properties: Properties) {
  const {
    columns,
    rows,
    sort: given,
    onSort,
    onRow,
    selected = -1,
    testId,
    label,
    zero = 0n,
    tree,
    toneOf,
  } = properties;
  const lazy = "count" in rows ? rows : null;
  const [kept, setOwn] = useState<Sort | null>(null);
  const own = onSort ? (given ?? null) : kept;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(300);
  const [bar, setBar] = useState(0);
  const [current, setCurrent] = useState(selected);
  const body = useRef<HTMLDivElement>(null);
  const sorted = useMemo(
    () => (lazy ? [] : own ? sortRows(rows as readonly Row[], own.column, own.descending) : (rows as readonly Row[])),
    [lazy, rows, own],
  );
  const count = lazy ? lazy.count : sorted.length;
  const rowOf = (at: number): Row | null => (lazy ? lazy.row(at) : (sorted[at] ?? null));
  const sort = lazy ? lazy.sort : own;
  const shown = columns.map((column, i) => ({ ...column, at: i })).filter((column) => column.kind !== "hidden");
  const least = useMemo(
    () => columns.map((column, at) => leastWidth(column, at, lazy ? [] : (rows as readonly Row[]), zero)),
    [columns, lazy, rows, zero],
  );
  const template = shown.map((c) => `minmax(${least[c.at]}px, ${c.width ?? 110}fr)`).join(" ");
  const minWidth = shown.reduce((sum, c) => sum + least[c.at]!, bar);

  useEffect(() => {
    // Headers stand above their columns whatever the browser's scroll bar takes from these.
    const observer = new ResizeObserver(([entry]) => {
      const { offsetWidth, clientWidth } = entry!.target as HTMLElement;
      setHeight(entry!.contentRect.height);
      setBar(offsetWidth - clientWidth);
    });
    observer.observe(body.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setCurrent(selected), [selected]);

  const full = count * HEIGHT;
  const drawn = Math.min(full, HIGHEST);
  // Where the rows are when the bar is at `top`.
  const factor = drawn > height ? (full - height) / Math.max(1, drawn - height) : 1;
  const place = full > HIGHEST ? top * factor : top;
  const first = Math.max(0, Math.floor(place / HEIGHT) - 4);
  const last = Math.min(count, Math.ceil((place + height) / HEIGHT) + 4);
  useEffect(() => lazy?.seen(first, last));
  useEffect(() => {
    if (current < 0 || !body.current) return;
    const box = body.current;
    const y = current * HEIGHT;
    const now = full > HIGHEST ? box.scrollTop * factor : box.scrollTop;
    const wanted = y < now ? y : y + HEIGHT > now + box.clientHeight ? y + HEIGHT - box.clientHeight : now;
    if (wanted !== now) box.scrollTop = wanted / factor;
  }, [current, full, factor]);

  const click = (column: number, kind: CellKind) => {
    const next =
      sort?.column === column ? { column, descending: !sort.descending } : { column, descending: !isLeft(kind) };
    if (lazy) lazy.onSort(next);
    else if (onSort) onSort(next);
    else setOwn(next);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -count, End: count }[event.key];
    const row = rowOf(current);
    if (step) setCurrent((now) => Math.min(count - 1, Math.max(0, now + step)));
    else if (event.key === "Enter" && row) onRow?.(row);
    else if (
      tree &&
      row &&
      tree.isOpen(current) === (event.key === "ArrowLeft") &&
      /^Arrow(Left|Right)$/.test(event.key)
    )
      tree.toggle(current);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const visible = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  return (
    <div
      className="grid"
      data-testid={testId}
      data-rows={count}
      role={tree ? "treegrid" : "grid"}
      aria-label={label}
      aria-rowcount={count + 1}
    >
      <div className="grid-head" style={{ gridTemplateColumns: template, minWidth, paddingRight: bar }} role="row">
        {shown.map((column) => (
          <div
            key={column.at}
            role="columnheader"
            aria-sort={sort?.column === column.at ? (sort.descending ? "descending" : "ascending") : "none"}
          >
            <button
              title={column.title ?? column.name}
              className={isLeft(column.kind) ? "" : "right"}
              onClick={() => click(column.at, column.kind)}
            >
              {column.name}
              {sort?.column === column.at && (sort.descending ? " ↓" : " ↑")}
            </button>
          </div>
        ))}
      </div>
      <div
        className="grid-body"
        role="rowgroup"
        style={{ minWidth }}
        ref={body}
        tabIndex={0}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div role="presentation" style={{ height: drawn, position: "relative" }}>
          {visible.map((at) => {
            const row = rowOf(at);
            return (
              <div
                key={at}
                role="row"
                {...(tree ? { "aria-level": tree.depth(at) + 1, "aria-expanded": tree.isOpen(at) ?? undefined } : {})}
                className={`grid-row${at === current ? " current" : ""}${onRow ? " active" : ""}${toneOf && row ? ` tone ${toneOf(row)}` : ""}`}
                style={{ top: at * HEIGHT - place + top, gridTemplateColumns: template }}
                onClick={() => {
                  setCurrent(at);
                  if (row) onRow?.(row);
                }}
              >
                {shown.map((column, place) => {
                  const cell = row?.[column.at] ?? null;
                  const text = row ? cellText(column.kind, cell, zero) : "…";
                  const part = column.bar && typeof cell === "number" ? Math.min(100, (100 * cell) / column.bar) : 0;
                  return (
                    <span
                      key={column.at}
                      role="gridcell"
                      title={column.kind === "moment" ? String(cell ?? "") : text}
                      className={`${isLeft(column.kind) ? "" : "right"}${part > 0 ? " part" : ""}`}
                      style={
                        part > 0
                          ? ({ "--part": `${part}%` } as CSSProperties)
                          : tree && place === 0
                            ? { paddingLeft: 10 + 16 * tree.depth(at) }
                            : undefined
                      }
                    >
                      {tree && place === 0 && <Twig tree={tree} at={at} />}
                      {text}
                    </span>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** Opens and closes what lies below a row. */
function Twig({ tree, at }: { tree: Tree; at: number }) {
  const isOpen = tree.isOpen(at);
  return (
    <i
      className={`twig${isOpen === null ? " leaf" : isOpen ? " open" : ""}`}
      aria-hidden="true"
      onClick={(event) => {
        if (isOpen === null) return;
        event.stopPropagation();
        tree.toggle(at);
      }}
    />
  );
}
