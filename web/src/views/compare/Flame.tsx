import { useMemo } from "react";

import { formatDuration } from "../../base/format";
import { useApp } from "../../app/context";
import { type Node, boxesOf, leaning } from "./tree";

const LEAST = 0.002;
const HEIGHT = 20;

/** The difference as boxes below each other: red takes longer than in the base, green shorter. */
export function Flame({ root, onNode }: { root: Node; onNode: (node: Node) => void }) {
  const { t } = useApp();
  const boxes = useMemo(() => boxesOf(root, LEAST), [root]);
  const deepest = Math.max(...boxes.map(({ node }) => node.depth));
  return (
    <div className="difference-flame" data-testid="difference-flame" style={{ height: (deepest + 1) * HEIGHT }}>
      {boxes.map(({ node, left, width }) => {
        const lean = leaning(node);
        const side = lean > 0.02 ? "longer" : lean < -0.02 ? "shorter" : "same";
        const words = `${node.name}: ${formatDuration(node.base)} → ${formatDuration(node.comparison)}`;
        return (
          <button
            key={node.key}
            className={side}
            title={words}
            aria-label={`${words} (${t(`compare.${side}`)})`}
            style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: node.depth * HEIGHT, height: HEIGHT - 1 }}
            onClick={() => onNode(node)}
          >
            {width > 0.03 ? node.name : ""}
          </button>
        );
      })}
    </div>
  );
}
