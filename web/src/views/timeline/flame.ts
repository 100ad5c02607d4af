/** Where the frames of a flame graph are: share of the width, callers above. */
import type { FlameMessage } from "../../api/messages";

export interface FlameBox {
  node: number;
  left: number;
  width: number;
  depth: number;
}

/** Boxes wider than `least`, a share of 1. `root`: the node that fills the width, -1 all. */
export function layoutFlame(flame: FlameMessage, root: number, least: number): FlameBox[] {
  const children = new Map<number, number[]>();
  flame.nodes.forEach((node, i) => children.set(node.parent, [...(children.get(node.parent) ?? []), i]));
  const whole =
    root >= 0 ? flame.nodes[root]!.total : (children.get(-1) ?? []).reduce((sum, i) => sum + flame.nodes[i]!.total, 0);
  const boxes: FlameBox[] = [];
  const place = (nodes: readonly number[], left: number, depth: number) => {
    let at = left;
    const sorted = [...nodes].sort((a, b) => flame.nodes[b]!.total - flame.nodes[a]!.total);
    for (const i of sorted) {
      const width = whole > 0 ? flame.nodes[i]!.total / whole : 0;
      if (width < least) continue;
      boxes.push({ node: i, left: at, width, depth });
      place(children.get(i) ?? [], at, depth + 1);
      at += width;
    }
  };
  place(root >= 0 ? [root] : (children.get(-1) ?? []), 0, 0);
  return boxes;
}

/** "…/site-packages/torch/nn/functional.py(9): relu" -> "torch/nn/functional.py(9): relu"; of other paths the
 * last folder is kept. */
export function shortFrame(name: string): string {
  const packaged = name.replace(/^.*\/(?:site-packages|dist-packages|lib\/python[\d.]+)\//, "");
  return packaged === name ? name.replace(/^\/(?:[^/:]+\/)*([^/:]+\/[^/:]+)/, "$1") : packaged;
}
