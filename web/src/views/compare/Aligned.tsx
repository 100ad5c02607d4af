import { useEffect, useState } from "react";

import { useApp } from "../../app/context";
import { Failure } from "../../app/Failure";
import { formatDuration } from "../../base/format";
import { Drawer } from "../timeline/Drawer";
import { Lanes } from "../timeline/Lanes";
import { Strip } from "../timeline/Timeline";
import { MOST_STEPS, type Step, alignment } from "./steps";
import { type Pair, stepKey, useSteps } from "./useSteps";

/** Steps of both sides to choose from; nothing where neither has any. */
export function StepChoice({ pair }: { pair: Pair }) {
  const { store, t } = useApp();
  const { known } = useSteps(pair);
  if (!known) return null;
  const choose = (base: number, comparison: number) =>
    store.set({ detail: { ...store.get().detail, [stepKey(pair)]: `${base},${comparison}` } });
  const choice = (side: "comparison" | "base", steps: readonly Step[], put: (at: number) => void) => (
    <label key={side}>
      {t(side === "base" ? "compare.step.base" : "compare.step.new")}{" "}
      <select value={known.at[side]} onChange={(event) => put(Number(event.target.value))}>
        {steps.map(({ number, dur }, at) => (
          <option key={at} value={at}>
            {number === null ? t("compare.step.none") : `${number} · ${formatDuration(dur)}`}
          </option>
        ))}
      </select>
    </label>
  );
  const isPart = known.base.length >= MOST_STEPS || known.comparison.length >= MOST_STEPS;
  return (
    <>
      {choice("comparison", known.comparison, (at) => choose(known.at.base, at))}
      {choice("base", known.base, (at) => choose(at, known.at.comparison))}
      {isPart && <span className="muted">{t("compare.steps.first", MOST_STEPS)}</span>}
    </>
  );
}

/** Both timelines under each other, moved so that the chosen steps begin together: they zoom and move as one. */
export function Aligned({ pair }: { pair: Pair }) {
  const { store, actions, t } = useApp();
  const { failed, known } = useSteps(pair);
  const [active, setActive] = useState(pair.comparison.id);
  const base = known?.base[known.at.base];
  const comparison = known?.comparison[known.at.comparison];
  const wanted = base && comparison ? `${base.begin}/${base.dur}/${comparison.begin}/${comparison.dur}` : "";
  useEffect(() => {
    if (!base || !comparison) return;
    const { offsets } = store.get();
    const next = alignment(base, comparison, offsets[pair.comparison.id] ?? 0);
    // A link, or the way back from another view: they are where they belong, and the window is the user's.
    if (offsets[pair.base.id] === next.offset && store.get().window !== null) return;
    actions
      .setOffsets({ ...offsets, [pair.base.id]: next.offset })
      .then(() => actions.setWindow(next.window), actions.fail);
  }, [wanted, pair.base.id, pair.comparison.id]); // eslint-disable-line react-hooks/exhaustive-deps
  const pane = (side: "comparison" | "base", title: string) => (
    <section className="aligned-pane" key={pair[side].id} aria-label={title}>
      <h2>
        {title} <span className="muted">{pair[side].name}</span>
      </h2>
      <Lanes
        only={pair[side].id}
        label={title}
        testId={`timeline-${side}`}
        hasKeys={active === pair[side].id}
        onEnter={() => setActive(pair[side].id)}
      />
    </section>
  );
  return (
    <div className="timeline" data-testid="compare-timelines">
      {failed.map((query, i) => (
        <Failure key={i} of={query} />
      ))}
      <Strip />
      {pane("comparison", t("compare.new"))}
      {pane("base", t("compare.base"))}
      <Drawer />
    </div>
  );
}
