import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { api } from "../../api/client";
import { useApp, useAppState } from "../../app/context";
import { Failure } from "../../app/Failure";
import { isShown } from "../../app/traces";
import { useVersions } from "../../app/useTable";
import { colorIndex } from "../../base/color";
import { formatCount, formatDuration, formatShare } from "../../base/format";
import { layoutFlame, shortFrame } from "./flame";
import { isCounter, familyOf } from "./lanes";
import { COMPUTED } from "./overlap";

const REST_MS = 150;

/** What a value was when it had not changed for a moment: windows are moved all the time. */
function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

/** Of the selected area; else of the selected slice's lane, or all host lanes, in the window. */
export function FlamePanel() {
  const { store, actions, t, theme } = useApp();
  const area = useAppState((s) => s.area);
  const slice = useAppState((s) => s.slice);
  const session = useAppState((s) => s.session)!;
  const window = useAppState((s) => s.window);
  const [root, setRoot] = useState(-1);
  const versions = useVersions();
  const from = useAppState((s) => (s.detail["flame"] === "stacks" ? "stacks" : "slices"));

  const wanted = useMemo(() => {
    if (area) return { ...area, lanes: area.lanes.filter((lane) => lane.track < COMPUTED) };
    const shown = window ?? actions.data();
    if (slice && slice.slice.track < COMPUTED)
      return { ...shown, lanes: [{ trace: slice.slice.trace, track: slice.slice.track }] };
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

  const rested = useRested(wanted);
  const asked = useQuery({
    queryKey: ["flame", rested, from, versions],
    queryFn: ({ signal }) => api.flame(rested.lanes, rested.begin, rested.end, from, signal),
    placeholderData: keepPreviousData,
  });
  const flame = asked.data;
  useEffect(() => setRoot(-1), [flame]);

  const boxes = useMemo(
    () => (flame && root < flame.nodes.length ? layoutFlame(flame, root, 0.0012) : []),
    [flame, root],
  );
  if (asked.error) return <Failure of={asked} />;
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
              onDoubleClick={() => void actions.searchName(node.name)}
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
