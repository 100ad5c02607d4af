/** The parts of a pipeline by rank, from the table of the mode pp_chart. Pure. */
import type { ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface PipelinePart {
  name: string;
  /** 0 forward, 1 backward, or the part of a schedule. */
  type: number;
  /** Nanoseconds after `zero`. */
  begin: number;
  end: number;
}

export interface RankParts {
  rank: number;
  parts: PipelinePart[];
  /** Share of the time from the first part of all ranks to the last in which this one has none. */
  bubble: number;
}

/** "F3": the fourth forward of its rank; a name that a schedule gave stays. */
function nameOf(name: string, numbers: Map<string, number>): string {
  if (name !== "FP" && name !== "BP") return name;
  const number = numbers.get(name) ?? 0;
  numbers.set(name, number + 1);
  return `${name[0]!}${number}`;
}

function busyOf(parts: readonly PipelinePart[]): number {
  let busy = 0;
  let until = -Infinity;
  for (const { begin, end } of parts) {
    busy += Math.max(0, end - Math.max(begin, until));
    until = Math.max(until, end);
  }
  return busy;
}

/** `zero`: nanoseconds of the epoch; `shift`: that a rank is shown later than it was. */
export function partsOf(
  table: ClusterTableMessage,
  zero: bigint,
  shift: (rank: number) => number,
): { ranks: RankParts[]; begin: number; end: number } {
  const [rank, name, from, to, type] = ["rank", "name", "begin_ns", "end_ns", "type"].map((column) =>
    columnOf(table, column),
  ) as [number, number, number, number, number];
  const byRank = new Map<number, PipelinePart[]>();
  const moment = (cell: unknown, by: number) => Number(BigInt(String(cell)) - zero) + by;
  for (const row of table.rows) {
    const owner = Number(row[rank]);
    const list = byRank.get(owner) ?? [];
    const by = shift(owner);
    list.push({ name: String(row[name] ?? ""), type: Number(row[type]), begin: moment(row[from], by), end: moment(row[to], by) }); // prettier-ignore
    byRank.set(owner, list);
  }
  let [begin, end] = [Infinity, -Infinity];
  for (const list of byRank.values()) {
    list.sort((a, b) => a.begin - b.begin || a.end - b.end);
    const numbers = new Map<string, number>();
    for (const part of list) {
      part.name = nameOf(part.name, numbers);
      begin = Math.min(begin, part.begin);
      end = Math.max(end, part.end);
    }
  }
  const ranks = [...byRank]
    .sort(([a], [b]) => a - b)
    .map(([owner, parts]) => ({ rank: owner, parts, bubble: 1 - busyOf(parts) / Math.max(1, end - begin) }));
  return { ranks, begin, end };
}

/** The part at a moment; the one that began last. */
export function partAt(parts: readonly PipelinePart[], at: number): PipelinePart | null {
  return parts.findLast((part) => part.begin <= at && at <= part.end) ?? null;
}

/** A window around a moment that is so much longer, within what there is. */
export function zoomed(
  [begin, end]: readonly [number, number],
  at: number,
  factor: number,
  [first, last]: readonly [number, number],
): [number, number] {
  const length = Math.min(last - first, Math.max(100, (end - begin) * factor));
  const from = at - ((at - begin) / (end - begin)) * length;
  const start = Math.min(Math.max(from, first), last - length);
  return [start, start + length];
}
