/** Groups of ranks by kind, and where each rank stands: stages of the pipeline are rows. Pure. */
import type { ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Group {
  /** dp, tp, pp, ...; "" where that was not recorded. */
  kind: string;
  /** Of the communicator. */
  name: string;
  ranks: number[];
}

/** "(0,1)" and "(0,)" */
export const ranksOf = (text: string): number[] =>
  text
    .replace(/[()[\] ]/g, "")
    .split(",")
    .filter(Boolean)
    .map(Number)
    .filter(Number.isInteger);

export function groupsOf(table: ClusterTableMessage): Group[] {
  const [set, id, kind, hash] = ["rank_set", "group_id", "pg_name", "group_hash"].map((name) =>
    columnOf(table, name),
  ) as [number, number, number, number];
  return table.rows.map((row) => ({
    kind: String(row[kind] ?? ""),
    name: String(row[id] ?? "") || String(row[hash] ?? ""),
    ranks: ranksOf(String(row[set] ?? "")),
  }));
}

/** The kinds, those of most groups first: the group of all ranks explains least. */
export function kindsOf(groups: readonly Group[]): string[] {
  const counts = new Map<string, number>();
  for (const { kind } of groups) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([kind]) => kind);
}

/** The ranks of each stage of the pipeline, the first first; one stage where there is no pipeline. */
export function stagesOf(groups: readonly Group[], ranks: readonly number[]): number[][] {
  const place = new Map<number, number>();
  for (const group of groups.filter(({ kind }) => kind === "pp")) {
    group.ranks.toSorted((a, b) => a - b).forEach((rank, at) => place.set(rank, at));
  }
  const stages: number[][] = [];
  for (const rank of ranks) (stages[place.get(rank) ?? 0] ??= []).push(rank);
  return stages.filter(Boolean).map((stage) => stage.toSorted((a, b) => a - b));
}

/** The mean of a measure over the steps of each rank. */
export function meansOf(table: ClusterTableMessage, column: string): Map<number, number> {
  const [rank, at] = [columnOf(table, "rank"), columnOf(table, column)];
  const sums = new Map<number, [number, number]>();
  for (const row of table.rows) {
    const [sum, count] = sums.get(Number(row[rank])) ?? [0, 0];
    sums.set(Number(row[rank]), [sum + Number(row[at] ?? 0), count + 1]);
  }
  return new Map([...sums].map(([key, [sum, count]]) => [key, sum / count]));
}

export interface Spread {
  least: number;
  most: number;
  /** The ranks of both. */
  leastRank: number;
  mostRank: number;
}

/** How far the ranks of a group lie apart; null where less than two are known. */
export function spreadOf(ranks: readonly number[], means: ReadonlyMap<number, number>): Spread | null {
  const known = ranks.filter((rank) => means.has(rank)).sort((a, b) => means.get(a)! - means.get(b)! || a - b);
  if (known.length < 2) return null;
  const [leastRank, mostRank] = [known[0]!, known.at(-1)!];
  return { least: means.get(leastRank)!, most: means.get(mostRank)!, leastRank, mostRank };
}
