/** Tokens of the experts of each rank by group, from the table of the mode ep_load_balance. Pure. */
import type { ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface GroupLoad {
  /** As the table names it: "0,1,2,3". */
  ranks: string;
  members: { rank: number; tokens: number }[];
  mean: number;
}

/** Most uneven first. */
export function loadOf(table: ClusterTableMessage): GroupLoad[] {
  const [rank, group, tokens] = ["rank", "ep_ranks", "tokens"].map((name) => columnOf(table, name)) as [
    number,
    number,
    number,
  ];
  const groups = new Map<string, GroupLoad>();
  for (const row of table.rows) {
    const ranks = String(row[group] ?? "");
    const load = groups.get(ranks) ?? { ranks, members: [], mean: 0 };
    load.members.push({ rank: Number(row[rank]), tokens: Number(row[tokens]) });
    groups.set(ranks, load);
  }
  const apart = ({ members }: GroupLoad) => {
    const all = members.map((member) => member.tokens);
    return Math.max(...all) - Math.min(...all);
  };
  return [...groups.values()]
    .map((load) => ({
      ...load,
      members: load.members.sort((a, b) => a.rank - b.rank),
      mean: load.members.reduce((sum, member) => sum + member.tokens, 0) / load.members.length,
    }))
    .sort((a, b) => apart(b) - apart(a));
}
