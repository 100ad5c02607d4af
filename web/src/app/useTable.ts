import { useEffect, useState } from "react";

import { api } from "../api/client";
import type { TableMessage } from "../api/messages";
import { useApp } from "./context";

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

export function columnOf(table: TableMessage, name: string): number {
  return table.columns.findIndex((column) => column.name === name);
}
