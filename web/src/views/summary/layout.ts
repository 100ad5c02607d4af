/** Which ranks work together: groups by kind of parallelism, from what all ranks know of them. Pure. */
import type { TableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Kind {
  /** dp, tp, pp, ... */
  name: string;
  groups: number[][];
}

export function layoutOf(table: TableMessage): Kind[] {
  const kinds = new Map<string, Map<string, number[]>>();
  const [description, ranks] = [columnOf(table, "description"), columnOf(table, "rank_list")];
  for (const row of table.rows) {
    const name = String(row[description] ?? "");
    let list: unknown;
    try {
      list = JSON.parse(String(row[ranks] ?? "[]"));
    } catch {
      continue; // Text that is no list gives no group.
    }
    if (!Array.isArray(list) || list.length === 0 || !list.every(Number.isInteger)) continue;
    const members = (list as number[]).toSorted((a, b) => a - b);
    const kind = kinds.get(name) ?? new Map<string, number[]>();
    kind.set(members.join(), members);
    kinds.set(name, kind);
  }
  return [...kinds]
    .map(([name, groups]) => ({
      name,
      groups: [...groups.values()].sort((a, b) => a[0]! - b[0]! || a.length - b.length),
    }))
    .sort((a, b) => a.name.localeCompare(b.name));
}
