import { useEffect, useMemo, useRef, useState } from "react";

import { api } from "../api/client";
import type { TableMessage } from "../api/messages";
import { useApp } from "./context";
import type { LazyRows } from "./Grid";
import { PAGE, type Sort, countStatement, pageStatement, rowsStatement } from "./pages";
import type { Row } from "./rows";

export type Question = { sql: string; trace: number; limit?: number } | { recipe: string; trace: number } | null;

/** The answer to a question to the server; null while it is not there. */
export function useTable(question: Question): TableMessage | null {
  const { actions } = useApp();
  const [answer, setAnswer] = useState<TableMessage | null>(null);
  const key = JSON.stringify(question);
  useEffect(() => {
    const asked = JSON.parse(key) as Question;
    setAnswer(null);
    if (!asked) return;
    let current = true;
    let pending = true;
    const id = `t${Math.random().toString(36).slice(2)}`;
    const done =
      "sql" in asked ? api.sql(asked.sql, asked.trace, asked.limit ?? 1000, id) : api.recipe(asked.trace, asked.recipe);
    done
      .then(
        (table) => current && setAnswer(table),
        (error) => current && actions.fail(error),
      )
      .finally(() => (pending = false));
    return () => {
      current = false;
      // Nobody waits for it any more; that it has ended meanwhile is no failure.
      if (pending && "sql" in asked) api.cancel(id).catch(() => undefined);
    };
  }, [key, actions]);
  return answer;
}

/** The rows of a statement page by page; null where `table` holds all of them. */
export function usePages(
  table: TableMessage | null,
  sql: string | undefined,
  trace: number,
  filter: string,
  sort: Sort | null,
  onSort: (sort: Sort) => void,
): LazyRows | null {
  const { actions } = useApp();
  const [count, setCount] = useState(-1);
  const [version, setVersion] = useState(0);
  const pages = useRef(new Map<number, Row[] | null>());
  const isPaged = table !== null && !table.complete && sql !== undefined;
  const columns = table?.columns;
  const rows = isPaged ? rowsStatement(sql, columns!, filter, sort) : "";

  useEffect(() => {
    pages.current = new Map();
    setVersion((v) => v + 1);
  }, [rows, trace]);
  useEffect(() => {
    if (!isPaged) return;
    let current = true;
    setCount(-1);
    api.sql(countStatement(sql, columns!, filter), trace, 1).then(
      (answer) => current && setCount(Number(answer.rows[0]![0])),
      (error) => current && actions.fail(error),
    );
    return () => {
      current = false;
    };
  }, [isPaged, sql, columns, filter, trace, actions]);

  return useMemo(() => {
    if (!isPaged) return null;
    const known = pages.current;
    const fetchPage = (page: number) => {
      if (known.has(page)) return;
      known.set(page, null);
      // Pages long gone make room.
      if (known.size > 60) known.delete(known.keys().next().value!);
      api.sql(pageStatement(rows, page), trace, PAGE).then((answer) => {
        known.set(page, answer.rows);
        setVersion((v) => v + 1);
      }, actions.fail);
    };
    return {
      count: Math.max(0, count),
      row: (at) => known.get(Math.floor(at / PAGE))?.[at % PAGE] ?? null,
      seen: (first, last) => {
        for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE); ++page)
          fetchPage(page);
      },
      sort,
      onSort,
    };
  }, [isPaged, rows, trace, count, sort, version, actions]); // eslint-disable-line react-hooks/exhaustive-deps
}
