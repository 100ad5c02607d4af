import { useMemo } from "react";

import { api } from "../../api/client";
import type { FactMessage, SliceMessage, SliceRefMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { cellText, kindOf, labelOf } from "../../app/cells";
import { formatCount, formatDuration, formatExact } from "../../base/format";
import { type Language, type TextKey } from "../../i18n";
import { en } from "../../i18n/en";
import { word } from "../../i18n/words";

export function SliceLink({ slice }: { slice: SliceRefMessage }) {
  const { actions } = useApp();
  return (
    <button className="link" onClick={() => void actions.select(slice.trace, slice.id, true)}>
      {slice.name}
      <small>{slice.dur < 0 ? "" : formatDuration(slice.dur)}</small>
    </button>
  );
}

/** Numbers that tie tables to each other mean nothing to people; the name is above. */
const QUIET = /^(name|message|(task|track|process|kind|args|stack|slice|mark|launch_slice|device_task|request)_id)$/;

function groupsOfFacts(facts: readonly FactMessage[]): [string, FactMessage[]][] {
  const groups = new Map<string, FactMessage[]>();
  for (const fact of facts) {
    if (fact.group !== "args" && QUIET.test(fact.key)) continue;
    groups.set(fact.group, [...(groups.get(fact.group) ?? []), fact]);
  }
  return [...groups];
}

/** As tables show columns and cells; arguments are the program's own. `zero`: what moments are counted from. */
export function factText({ group, key, value }: FactMessage, language: Language = "en", zero = 0n): [string, string] {
  if (group === "args" || group === "meanwhile") return [key, value];
  const isNumber = value !== "" && Number.isFinite(Number(value));
  const kind = kindOf({ name: key, type: !isNumber ? "text" : /^-?\d+$/.test(value) ? "integer" : "real" });
  const cell = isNumber && kind !== "moment" ? Number(value) : value;
  return [labelOf(language, key), kind === "text" ? value : cellText(kind, cell, zero)];
}

function Times({ slice }: { slice: SliceMessage }) {
  const { actions, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const zero = actions.data().begin;
  const { ts, dur, trace, track, name } = slice.slice;
  const owner = session.traces[trace];
  const lane = owner?.tracks.find((candidate) => candidate.id === track);
  // As recorded, without the offset of the rank.
  const raw = (at: number) => (BigInt(session.base) + BigInt(Math.round(at - api.offsetOf(trace)))).toString();
  const rows: [TextKey, string][] = [
    ["details.name", name],
    ["details.category", slice.category || "–"],
    ["details.start", formatExact(ts - zero)],
    ["details.duration", dur < 0 ? t("details.unfinished") : formatExact(dur)],
    [
      "details.self",
      slice.self < 0
        ? "–"
        : `${formatExact(slice.self)}${dur > 0 ? `  (${((100 * slice.self) / dur).toFixed(1)} %)` : ""}`,
    ],
    ["details.children", formatCount(slice.children)],
    [
      "details.lane",
      `${owner && owner.rank >= 0 ? `${t("lane.rank", owner.rank)} · ` : ""}${lane?.name ?? slice.category}`,
    ],
    ["details.raw", raw(ts)],
    ["details.end", dur < 0 ? "–" : raw(ts + dur)],
  ];
  return (
    <dl data-testid="times">
      {rows.map(([key, value]) => (
        <div key={key}>
          <dt>{t(key)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function DetailsPanel() {
  const { store, actions, t } = useApp();
  const slice = useAppState((s) => s.slice);
  const language = useAppState((s) => s.language);
  const offset = useAppState((s) => s.offsets[slice?.slice.trace ?? -1] ?? 0);
  const base = useAppState((s) => s.session!.base);
  const zero = BigInt(base) + BigInt(Math.round(actions.data().begin - offset));
  const groups = useMemo(() => groupsOfFacts(slice?.facts ?? []), [slice]);
  const several = useAppState((s) => s.session!.traces.length > 1);
  const isStep = groups.some(([group]) => group === "step");
  if (!slice) return <p className="hint">{t("panel.empty")}</p>;
  const same = () => {
    store.set({ search: { text: slice.slice.name, regex: false, case: true, whole: true, args: false } });
    void actions.search();
  };
  return (
    <div className="details" data-testid="details">
      <div className="block">
        <div className="buttons">
          <button onClick={() => actions.reveal(slice.slice, true)}>{t("details.zoom")}</button>
          <button onClick={() => void actions.neighbour(-1, "name")} title={t("details.previous")}>
            ‹
          </button>
          <button onClick={() => void actions.neighbour(1, "name")} title={t("details.next")}>
            ›
          </button>
          <button onClick={same}>{t("details.same")}</button>
          {isStep && several && <button onClick={() => store.set({ view: "ranks" })}>{t("details.allranks")}</button>}
        </div>
        <Times slice={slice} />
      </div>
      {groups.map(([group, facts]) => (
        <div className="block" key={group}>
          <h2 className="small">{`facts.${group}` in en ? t(`facts.${group}` as TextKey) : group}</h2>
          <dl>
            {facts
              .map((fact) => factText(fact, language, zero))
              .map(([key, value], i) => (
                <div key={i}>
                  <dt>{key}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
          </dl>
        </div>
      ))}
      {slice.flows.length > 0 && (
        <div className="block">
          <h2 className="small">{t("details.flows")}</h2>
          <ul data-testid="flows">
            {slice.flows.map((flow, i) => (
              <li key={i}>
                <em>
                  {flow.out ? "→" : "←"} {word(language, flow.kind.replaceAll("_", " "))}
                </em>
                {flow.step >= 0 && t("details.step", flow.step)}
                {flow.rank >= 0 && ` · ${t("lane.rank", flow.rank)}`}
                <SliceLink slice={flow.slice} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {slice.ancestors.length > 0 && (
        <div className="block">
          <h2 className="small">{t("details.parents")}</h2>
          <ul>
            {slice.ancestors.toReversed().map((above) => (
              <li key={above.id}>
                <SliceLink slice={above} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {slice.stack.length > 0 && (
        <div className="block stack">
          <h2 className="small">{t("details.stack")}</h2>
          <ol>
            {slice.stack.map((frame, i) => (
              <li key={i}>{frame}</li>
            ))}
          </ol>
        </div>
      )}
    </div>
  );
}
