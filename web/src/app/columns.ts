import type { TableMessage } from "../api/messages";

/** The place of a column, -1 where there is none. */
export function columnOf(table: Pick<TableMessage, "columns">, name: string): number {
  return table.columns.findIndex((column) => column.name === name);
}
