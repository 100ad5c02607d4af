import { useEffect, useMemo, useState } from "react";

import { api } from "../../api/client";
import type { FlameMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { isShown } from "../../app/traces";
import { colorIndex } from "../../base/color";
import { formatCount, formatDuration, formatShare } from "../../base/format";
import { layoutFlame, shortFrame } from "./flame";
import { isCounter, familyOf } from "./lanes";

/** Of the selected area; else of the selected slice's lane, or all host lanes, in the window. */
export function FlamePanel() {
  const { store, actions, t, theme } = useApp();
  const area = useAppState((s) => s.area);
  const slice = useAppState((s) => s.slice);
  const session = useAppState((s) => s.session)!;
  const window = useAppState((s) => s.window);
  const [flame, setFlame] = useState<FlameMessage | null>(null);
  const [root, setRoot] = useState(-1);
  const from = useAppState((s) => (s.detail["flame"] === "stacks" ? "stacks" : "slices"));

  const wanted = useMemo(() => {
    if (area) return area;
    const shown = window ?? actions.data();
    if (slice) return { ...shown, lanes: [{ trace: slice.slice.trace, track: slice.slice.track }] };
    const lanes = session.traces
      .filter(isShown)
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
      api.flame(wanted.lanes, wanted.begin, wanted.end, from).then(setFlame, actions.fail);
    }, 150);
    return () => clearTimeout(timer);
  }, [wanted, from, actions]);

  const boxes = useMemo(() => (flame ? layoutFlame(flame, root, 0.0012) : []), [flame, root]);
  if (!flame) return <p className="hint">…</p>;
  const whole = boxes.filter((box) => box.depth === 0).reduce((sum, box) => sum + flame.nodes[box.node]!.total, 0);
  const choose = (kind: string) => store.set({ detail: { ...store.get().detail, flame: kind } });
  return (
    <>
      <div className="toolbar">
        <button aria-pressed={from === "slices"} onClick={() => choose("slices")}>
          {t("flame.slices")}
        </button>
        <button aria-pressed={from === "stacks"} onClick={() => choose("stacks")}>
          {t("flame.stacks")}
        </button>
        <span className="muted">
          {area ? t("flame.area") : slice ? t("flame.lane") : t("flame.window")} · {formatDuration(whole)}
          {flame.complete ? "" : ` · ${t("flame.part")}`}
        </span>
        {root >= 0 && <button onClick={() => setRoot(-1)}>{t("flame.whole")}</button>}
      </div>
      {boxes.length === 0 && <p className="hint">{t(from === "stacks" ? "flame.nostacks" : "search.none")}</p>}
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
              aria-label={node.name}
              onClick={() => setRoot(root === box.node ? -1 : box.node)}
              style={{
                left: `${box.left * 100}%`,
                width: `calc(${box.width * 100}% - 1px)`,
                top: box.depth * 19,
                background: theme.bars[colorIndex(node.name, theme.bars.length)],
                color: theme.barText,
              }}
            >
              {box.width > 0.02 ? shortFrame(node.name) : ""}
            </button>
          );
        })}
      </div>
    </>
  );
}
