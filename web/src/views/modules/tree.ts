/** The rows of the mode module_statistic as a tree: modules, below them operators, below these their kernels. Pure. */
import type { ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Node {
  key: string;
  name: string;
  kind: "module" | "operator" | "kernel";
  /** Device time in nanoseconds, with what lies below; a kernel has that of its operator. */
  total: number | null;
  /** Of an operator. */
  calls: number | null;
  /** The rank that spends longest in it. */
  rank: number | null;
  children: Node[];
}

interface Building extends Node {
  below: Map<string, Building>;
  byRank: Map<number, number>;
}

function child(of: Map<string, Building>, owner: string, kind: Node["kind"], name: string, id = name): Building {
  const found = of.get(`${kind} ${id}`);
  if (found) return found;
  const made: Building = {
    key: `${owner}/${kind[0]!}:${id}`,
    name,
    kind,
    total: kind === "kernel" ? null : 0,
    calls: kind === "operator" ? 0 : null,
    rank: null,
    children: [],
    below: new Map(),
    byRank: new Map(),
  };
  of.set(`${kind} ${id}`, made);
  return made;
}

function finished(of: Map<string, Building>): Node[] {
  return [...of.values()].map(({ below, byRank, ...node }) => {
    const longest = [...byRank].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
    return { ...node, rank: byRank.size > 1 ? longest![0] : null, children: finished(below) };
  });
}

/** `only`: a rank, or null for all together. */
export function treeOf(table: ClusterTableMessage, only: number | null): Node[] {
  const at = (name: string) => columnOf(table, name);
  const [parent, module, op, kernels, total, count, rank] = [
    "parent",
    "module",
    "op",
    "kernels",
    "total_ns",
    "count",
    "rank",
  ].map(at) as [number, number, number, number, number, number, number];
  const roots = new Map<string, Building>();
  for (const row of table.rows) {
    const owner = Number(row[rank]);
    if (only !== null && owner !== only) continue;
    const time = Number(row[total]);
    const add = (node: Building) => {
      node.total = (node.total ?? 0) + time;
      node.byRank.set(owner, (node.byRank.get(owner) ?? 0) + time);
    };
    let level = roots;
    let key = "";
    for (const name of [...String(row[parent] ?? "").split("/"), String(row[module])].filter(Boolean)) {
      const node = child(level, key, "module", name);
      add(node);
      level = node.below;
      key = node.key;
    }
    const list = String(row[kernels] ?? "");
    const operator = child(level, key, "operator", String(row[op]), `${String(row[op])} ${list}`);
    add(operator);
    operator.calls! += Number(row[count]);
    for (const name of list.split(", ").filter(Boolean)) child(operator.below, operator.key, "kernel", name);
  }
  return finished(roots);
}

export type Order = "name" | "total" | "calls" | "mean";

export const meanOf = ({ total, calls }: Node) => (total !== null && calls ? total / calls : null);

const valueOf = (node: Node, by: Order): number =>
  (by === "calls" ? node.calls : by === "mean" ? meanOf(node) : node.total) ?? -1;

/** What is seen of it: nodes in their order, and how deep each lies. */
export function visible(
  nodes: readonly Node[],
  open: (node: Node, depth: number) => boolean,
  by: Order,
  descending: boolean,
  depth = 0,
): { node: Node; depth: number }[] {
  const sign = descending ? -1 : 1;
  const compare = (a: Node, b: Node) =>
    by === "name" ? sign * a.name.localeCompare(b.name) : sign * (valueOf(a, by) - valueOf(b, by));
  return nodes
    .toSorted(compare)
    .flatMap((node) => [
      { node, depth },
      ...(open(node, depth) ? visible(node.children, open, by, descending, depth + 1) : []),
    ]);
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The first slice of a node. Modules are recognized by the class that was recorded, else by their names. */
export function occurrence({ kind, name }: Node): string {
  if (kind !== "module") return `SELECT slice_id FROM slice WHERE name = ${quoted(name)} ORDER BY ts LIMIT 1`;
  const plain = name.replace(/^\[Backward\]/, "").replace(/(?<=\D)_\d+$/, "");
  const pattern = `(^|: )${plain.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(_[0-9]+)?$`;
  return (
    "SELECT slice_id FROM slice JOIN framework_op USING (slice_id) LEFT JOIN (SELECT args_id, value FROM args " +
    "WHERE key = 'class') AS class USING (args_id) WHERE scope = 4 AND " +
    `(value = ${quoted(plain)} OR value IS NULL AND regexp_matches(slice.name, ${quoted(pattern)})) ORDER BY ts LIMIT 1`
  );
}
