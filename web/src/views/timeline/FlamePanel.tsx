import { useEffect, useMemo, useState } from "react";

import { api } from "../../api/client";
import type { FlameMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { colorIndex } from "../../base/color";
import { formatCount, formatDuration, formatShare } from "../../base/format";
import { layoutFlame } from "./flame";
import { isCounter, familyOf } from "./lanes";

/** Of the selected area; else of the selected slice's lane, or all host lanes, in the window. */
export function FlamePanel() {
  const { actions, t, theme } = useApp();
  const area = useAppState((s) => s.area);
  const slice = useAppState((s) => s.slice);
  const session = useAppState((s) => s.session)!;
  const window = useAppState((s) => s.window);
  const [flame, setFlame] = useState<FlameMessage | null>(null);
  const [root, setRoot] = useState(-1);

  const wanted = useMemo(() => {
    if (area) return area;
    const shown = window ?? actions.data();
    if (slice) return { ...shown, lanes: [{ trace: slice.slice.trace, track: slice.slice.track }] };
    const lanes = session.traces
      .filter((trace) => trace.state === "ready")
      .flatMap((trace) =>
        trace.tracks
          .filter(
            (track) => !isCounter(track) && familyOf(track) === "host" && track.kind === "thread" && track.slices > 0,
          )
          .map((track) => ({ trace: trace.id, track: track.id })),
      );
    return { ...shown, lanes };
  }, [area, slice, window, session, actions]);

  useEffect(() => {
    // Waits until the window rests.
    const timer = setTimeout(() => {
      setRoot(-1);
      api.flame(wanted.lanes, wanted.begin, wanted.end).then(setFlame, actions.fail);
    }, 150);
    return () => clearTimeout(timer);
  }, [wanted, actions]);

  const boxes = useMemo(() => (flame ? layoutFlame(flame, root, 0.0012) : []), [flame, root]);
  if (!flame) return <p className="hint">…</p>;
  const whole = boxes.filter((box) => box.depth === 0).reduce((sum, box) => sum + flame.nodes[box.node]!.total, 0);
  return (
    <div
      className="flame"
      data-testid="flame"
      style={{ height: (Math.max(0, ...boxes.map((b) => b.depth)) + 1) * 19 + 4 }}
    >
      {boxes.map((box) => {
        const node = flame.nodes[box.node]!;
        const text = `${node.name}\n${formatDuration(node.total)} (${formatShare(node.total / whole)}), ${t("column.self")} ${formatDuration(node.self)}, ${formatCount(node.count)} ×`;
        return (
          <button
            key={box.node}
            title={text}
            onClick={() => setRoot(root === box.node ? -1 : box.node)}
            style={{
              left: `${box.left * 100}%`,
              width: `calc(${box.width * 100}% - 1px)`,
              top: box.depth * 19,
              background: theme.bars[colorIndex(node.name, theme.bars.length)],
              color: theme.barText,
            }}
          >
            {box.width > 0.02 ? node.name : ""}
          </button>
        );
      })}
    </div>
  );
}
