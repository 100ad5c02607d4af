/** Times of a table in nanoseconds and sizes in bytes, whatever unit its columns were declared with: so that cells,
 * filters and curves know one. Pure. */
import type { Cell, ClusterTableMessage } from "../api/messages";

const BASES: Readonly<Record<string, readonly [unit: string, factor: number]>> = {
  us: ["ns", 1e3],
  ms: ["ns", 1e6],
  MB: ["bytes", 1e6],
};

export function inBaseUnits(table: ClusterTableMessage): ClusterTableMessage {
  const bases = table.columns.map(({ unit, role }) => (role === "measure" ? BASES[unit] : undefined));
  if (bases.every((base) => base === undefined)) return table;
  const converted = (cell: Cell, at: number): Cell => {
    const base = bases[at];
    return base && typeof cell === "number" ? cell * base[1] : cell;
  };
  return {
    ...table,
    columns: table.columns.map((column, at) => {
      const base = bases[at];
      return base ? { ...column, unit: base[0], name: column.name.replace(/_(us|ms|mb)$/, `_${base[0]}`) } : column;
    }),
    rows: table.rows.map((row) => row.map(converted)),
  };
}
