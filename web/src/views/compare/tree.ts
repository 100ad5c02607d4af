/** The difference of a step of two traces as a tree that is folded and shown. Pure. */
import type { Cell, ClusterTableMessage } from "../../api/messages";
import { columnOf } from "../../app/columns";

export interface Node {
  /** Names from the root on: it stays the same when the comparison is made again. */
  key: string;
  name: string;
  /** step, module, operator, kernel, host or idle */
  kind: string;
  depth: number;
  base: number;
  comparison: number;
  baseCalls: number;
  comparisonCalls: number;
  verdict: string;
  children: Node[];
}

/** The root of the table `compare_tree`, times in nanoseconds; null where it has no rows. */
export function treeOf(table: ClusterTableMessage): Node | null {
  const [parent, depth, kind, name, base, comparison, baseCalls, comparisonCalls, verdict] = [
    "parent_id",
    "depth",
    "node",
    "name",
    "base_ns",
    "comparison_ns",
    "base_calls",
    "comparison_calls",
    "verdict",
  ].map((column) => columnOf(table, column)) as number[];
  const text = (cell: Cell | undefined) => String(cell ?? "");
  const nodes: Node[] = [];
  for (const row of table.rows) {
    const above = row[parent!];
    const owner = typeof above === "number" ? nodes[above] : undefined;
    const node: Node = {
      key: `${owner?.key ?? ""}/${text(row[kind!])}:${text(row[name!])}`,
      name: text(row[name!]),
      kind: text(row[kind!]),
      depth: Number(row[depth!]),
      base: Number(row[base!]),
      comparison: Number(row[comparison!]),
      baseCalls: Number(row[baseCalls!]),
      comparisonCalls: Number(row[comparisonCalls!]),
      verdict: text(row[verdict!]),
      children: [],
    };
    owner?.children.push(node);
    nodes.push(node);
  }
  return nodes[0] ?? null;
}

/** Nodes that nothing closed lies above, in order. */
export function visible(root: Node, isOpen: (node: Node) => boolean): Node[] {
  const shown: Node[] = [];
  const walk = (node: Node) => {
    shown.push(node);
    if (isOpen(node)) node.children.forEach(walk);
  };
  walk(root);
  return shown;
}

/** A box of the flame graph of the difference. */
export interface Box {
  node: Node;
  /** Shares of the width. */
  left: number;
  width: number;
}

/** Boxes of the tree: each as wide as it takes on the side where it takes longer, beside the others of its parent in
 * what that has. Those narrower than `least` are left out. */
export function boxesOf(root: Node, least: number): Box[] {
  const boxes: Box[] = [];
  const walk = (node: Node, left: number, width: number) => {
    if (width < least) return;
    boxes.push({ node, left, width });
    const weights = node.children.map((child) => Math.max(child.base, child.comparison));
    const whole = Math.max(
      weights.reduce((sum, weight) => sum + weight, 0),
      node.base,
      node.comparison,
    );
    let at = left;
    node.children.forEach((child, i) => {
      const share = whole > 0 ? (width * weights[i]!) / whole : 0;
      walk(child, at, share);
      at += share;
    });
  };
  walk(root, 0, 1);
  return boxes;
}

/** How much of the larger side a node lost (-1) or gained (1). */
export function leaning({ base, comparison }: Node): number {
  const larger = Math.max(base, comparison);
  return larger > 0 ? (comparison - base) / larger : 0;
}
