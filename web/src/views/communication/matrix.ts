/** Traffic between ranks: bytes and time of all kinds, from rows of the recipe communication_matrix. */
import type { TableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Link {
  bytes: number;
  time: number;
}

export interface Matrix {
  ranks: number[];
  links: Map<string, Link>;
  most: number;
}

export function matrixOf(tables: readonly TableMessage[]): Matrix {
  const links = new Map<string, Link>();
  const ranks = new Set<number>();
  for (const table of tables) {
    const [from, to, bytes, time] = ["src_rank", "dst_rank", "size_bytes", "time_ns"].map((name) =>
      columnOf(table, name),
    ) as [number, number, number, number];
    const kind = columnOf(table, "name");
    for (const row of table.rows) {
      // Rows named "...-total" sum those of their kind.
      if (!String(row[kind]).endsWith("-total")) continue;
      const key = `${row[from]}:${row[to]}`;
      const link = links.get(key) ?? { bytes: 0, time: 0 };
      links.set(key, { bytes: link.bytes + Number(row[bytes]), time: link.time + Number(row[time]) });
      ranks.add(Number(row[from])).add(Number(row[to]));
    }
  }
  const most = Math.max(1, ...[...links.values()].map((link) => link.bytes));
  return { ranks: [...ranks].sort((a, b) => a - b), links, most };
}
