/** Transfers between ranks, from the table of the mode communication_matrix_sum. Pure. */
import type { ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface RankLink {
  from: number;
  to: number;
  transport: string;
  bytes: number;
  /** Nanoseconds. */
  time: number;
  /** Bytes per nanosecond; null where no time was measured. */
  bandwidth: number | null;
  /** Less one: of that of the median link of its kind. */
  above: number | null;
}

/** All operations together, by link; a rank with itself only where `inner` is asked for. */
export function linksOf(table: ClusterTableMessage, inner = false): RankLink[] {
  const [op, from, to, transport, bytes, time] = [
    "op_name",
    "src_rank",
    "dst_rank",
    "transport",
    "size_bytes",
    "time_ns",
  ].map((name) => columnOf(table, name)) as [number, number, number, number, number, number];
  const links = new Map<string, RankLink>();
  for (const row of table.rows) {
    // Rows named "...-total" sum those of their kind; one of all kinds stands beside them.
    if (!String(row[op]).endsWith("-total") || (!inner && row[from] === row[to])) continue;
    const key = `${String(row[from])} ${String(row[to])} ${String(row[transport])}`;
    const link = links.get(key) ?? {
      from: Number(row[from]),
      to: Number(row[to]),
      transport: String(row[transport]),
      bytes: 0,
      time: 0,
      bandwidth: null,
      above: null,
    };
    link.bytes += Number(row[bytes] ?? 0);
    link.time += Number(row[time] ?? 0);
    links.set(key, link);
  }
  const list = [...links.values()];
  for (const link of list) link.bandwidth = link.time > 0 ? link.bytes / link.time : null;
  for (const kind of transportsOf(list)) {
    const own = list.filter((link) => link.transport === kind && link.bandwidth !== null);
    const sorted = own.map((link) => link.bandwidth!).sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)];
    for (const link of own) link.above = median ? link.bandwidth! / median - 1 : null;
  }
  return list.sort((a, b) => (a.above ?? 1) - (b.above ?? 1) || a.from - b.from || a.to - b.to);
}

export const transportsOf = (links: readonly RankLink[]): string[] =>
  [...new Set(links.map(({ transport }) => transport))].sort();
