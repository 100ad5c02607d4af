/** Sums of communication operations by group, kind or rank. Pure. */
import type { TableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Times {
  all: number;
  transit: number;
  wait: number;
  idle: number;
  bytes: number;
  count: number;
}

export function sumBy(
  tables: readonly { label: string; table: TableMessage }[],
  by: "group" | "op" | "rank",
): [string, Times][] {
  const sums = new Map<string, Times>();
  for (const { label, table } of tables) {
    const at = (name: string) => columnOf(table, name);
    const [group, kind, all, transit, wait, idle, bytes] = [
      at("group_name"),
      at("kind"),
      at("elapse_ns"),
      at("transit_ns"),
      at("wait_ns"),
      at("idle_ns"),
      at("size_bytes"),
    ] as [number, number, number, number, number, number, number];
    for (const row of table.rows) {
      const key = by === "rank" ? label : String(row[by === "group" ? group : kind]);
      const sum = sums.get(key) ?? { all: 0, transit: 0, wait: 0, idle: 0, bytes: 0, count: 0 };
      sum.all += Number(row[all] ?? 0);
      sum.transit += Number(row[transit] ?? 0);
      sum.wait += Number(row[wait] ?? 0);
      sum.idle += Number(row[idle] ?? 0);
      sum.bytes += Number(row[bytes] ?? 0);
      sum.count += 1;
      sums.set(key, sum);
    }
  }
  const list = [...sums];
  return by === "rank" ? list : list.sort((a, b) => b[1].all - a[1].all);
}

/** The groups of all traces, as each of them knows them. */
export const GROUPS = {
  sql: "SELECT DISTINCT name, coalesce(description, '') AS description, rank_list FROM communication_group",
  trace: -1,
  limit: 100_000,
};

/** "tp: 0 1 2 3" for the names of groups whose purpose and ranks were recorded. */
export function groupLabels(table: TableMessage | undefined): Map<string, string> {
  const labels = new Map<string, string>();
  if (table) {
    const [name, description, ranks] = ["name", "description", "rank_list"].map((column) => columnOf(table, column));
    for (const row of table.rows) {
      const list = /^\[([\d, ]*)\]$/.exec(String(row[ranks!] ?? ""))?.[1] ?? "";
      const members = list.split(/[, ]+/).filter(Boolean);
      const shown = members.length > 16 ? `${members[0]} … ${members.at(-1)} (${members.length})` : members.join(" ");
      const what = String(row[description!] ?? "") || String(row[name!]);
      labels.set(String(row[name!]), shown === "" ? what : `${what}: ${shown}`);
    }
  }
  return labels;
}
