/** What to do about what is open: the advice of the rules, each with its evidence and the place that shows it. */
import { skipToken, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api } from "../../api/client";
import type { AdvisorMessage, RuleAdviceMessage, RuleSheetMessage, TraceMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { TraceSelect } from "../../app/RankSelect";
import { isReady } from "../../app/traces";
import { useVersions } from "../../app/useTable";
import type { View } from "../../app/view";
import type { TextKey } from "../../i18n";
import { traceName } from "../timeline/lanes";
import { columnsOf } from "./sheet";

/** Sheets of so many rows are open at first. */
const FEW = 3;
const PRIORITIES: Readonly<Record<string, TextKey>> = {
  high: "advice.high",
  medium: "advice.medium",
  low: "advice.low",
};
const SECTIONS: Readonly<Record<string, TextKey>> = {
  overall: "advice.section.overall",
  comparison: "advice.section.comparison",
  memory: "advice.section.memory",
  communication: "advice.section.communication",
  computation: "advice.section.computation",
  dataloader: "advice.section.dataloader",
  schedule: "advice.section.schedule",
  serving: "advice.section.serving",
};

function Sheet({ sheet, trace }: { sheet: RuleSheetMessage; trace: number }) {
  const { actions, t } = useApp();
  const language = useAppState((s) => s.language);
  const columns = useMemo(() => columnsOf(sheet, language), [sheet, language]);
  const hasPlaces = trace >= 0 && sheet.slices.some((slice) => slice >= 0);
  return (
    <div className="sheet" tabIndex={0} role="region" aria-label={sheet.name}>
      <table>
        <thead>
          <tr>
            {columns.map(({ label }, i) => (
              <th key={i} scope="col">
                {label}
              </th>
            ))}
            {hasPlaces && <th scope="col">{t("view.timeline")}</th>}
          </tr>
        </thead>
        <tbody>
          {sheet.rows.map((row, at) => {
            const slice = sheet.slices[at] ?? -1;
            return (
              <tr key={at}>
                {columns.map(({ text, isNumber }, i) => (
                  <td key={i} className={isNumber ? "right" : ""}>
                    {text(row[i] ?? null)}
                  </td>
                ))}
                {hasPlaces && (
                  <td>
                    {slice >= 0 && (
                      <button onClick={() => void actions.select(trace, slice, true)}>{t("serving.show")}</button>
                    )}
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Rows({ advice, at }: { advice: RuleAdviceMessage; at: number }) {
  const { store, t } = useApp();
  const sheet = advice.sheets[at]!;
  const key = `${advice.rule}.${advice.trace}.${at}`;
  const toggled = useAppState((s) => s.detail["advice.toggled"] ?? "").split("|");
  const isOpen = sheet.total <= FEW !== toggled.includes(key);
  const toggle = () => {
    const next = toggled.includes(key) ? toggled.filter((one) => one !== key) : [...toggled, key];
    store.set({ detail: { ...store.get().detail, "advice.toggled": next.filter(Boolean).join("|") } });
  };
  const isPart = sheet.rows.length < sheet.total;
  return (
    <>
      <button className="rows" aria-expanded={isOpen} onClick={toggle}>
        {isOpen ? "▾ " : "▸ "}
        {isPart
          ? t("advice.first", sheet.name, sheet.rows.length, sheet.total)
          : t("advice.rows", sheet.name, sheet.total)}
      </button>
      {isOpen && <Sheet sheet={sheet} trace={advice.trace} />}
    </>
  );
}

function Card({ advice, owner }: { advice: RuleAdviceMessage; owner: string }) {
  const { actions, store, t } = useApp();
  const { trace, place, statement } = advice;
  const showRows = () =>
    store.set({
      view: "sql",
      detail: { ...store.get().detail, sql: statement, ran: "1", rank: String(trace) },
    });
  const priority = PRIORITIES[advice.priority];
  return (
    <article className={advice.priority} data-testid={`advice-${advice.rule}`}>
      <div className="heading">
        <h3>{advice.title}</h3>
        {priority && <span className="muted">{t(priority)}</span>}
        {owner !== "" && <span className="muted">{owner}</span>}
      </div>
      <p className="prose">{advice.description}</p>
      {advice.suggestions.length > 0 && (
        <>
          <b>{t("advice.suggestions")}</b>
          <ol>
            {advice.suggestions.map((text) => (
              <li key={text} className="prose">
                {text}
              </li>
            ))}
          </ol>
        </>
      )}
      <p className="prose" data-testid="advice-evidence">
        <b>{t("advice.evidence")}</b> {advice.evidence}
        {advice.confidence < 1 && (
          <span className="muted"> · {t("advice.concluded", `${Math.round(advice.confidence * 100)} %`)}</span>
        )}{" "}
        {trace >= 0 && place >= 0 && (
          <button onClick={() => void actions.select(trace, place, true)}>{t("serving.show")}</button>
        )}{" "}
        {statement !== "" && <button onClick={showRows}>{t("summary.evidence")}</button>}
      </p>
      {advice.sheets.map((_, at) => (
        <Rows key={at} advice={advice} at={at} />
      ))}
    </article>
  );
}

function Silences({ message }: { message: AdvisorMessage }) {
  const { t } = useApp();
  if (message.silences.length === 0) return null;
  const failed = message.silences.filter((silence) => silence.failed);
  const lacking = message.silences.filter((silence) => !silence.failed);
  const reasons = [...new Set(lacking.map(({ why }) => why))];
  return (
    <>
      {failed.map(({ rule, why }) => (
        <p key={rule} className="error">
          {t("advice.failed", rule, why)}
        </p>
      ))}
      {lacking.length > 0 && (
        <details className="muted">
          <summary>{t("advice.silent", lacking.length)}</summary>
          <ul>
            {reasons.map((reason) => (
              <li key={reason}>
                {reason}: {lacking.flatMap(({ rule, why }) => (why === reason ? [rule] : [])).join(", ")}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Result({ message, ready }: { message: AdvisorMessage; ready: readonly TraceMessage[] }) {
  const { t } = useApp();
  if (message.missing !== "") {
    return <Empty title={t("advice.cannot")} help={t("advice.choose", message.missing)} />;
  }
  const owner = ({ trace }: RuleAdviceMessage) => {
    const found = ready.length > 1 ? ready.find(({ id }) => id === trace) : undefined;
    if (!found) return "";
    return found.rank >= 0 ? t("lane.rank", found.rank) : traceName(found, ready);
  };
  const sections = [...new Set(message.advice.map(({ section }) => section))];
  return (
    <div className="advice scrolls" data-testid="advice">
      {message.notices.map((notice) => (
        <p key={notice} className="muted">
          {notice}
        </p>
      ))}
      {sections.length === 0 && <Empty title={t("advice.none")} help={t("advice.none.help")} />}
      {sections.map((section) => (
        <section key={section}>
          <h2>{SECTIONS[section] ? t(SECTIONS[section]) : section}</h2>
          {message.advice.map(
            (advice, i) => advice.section === section && <Card key={i} advice={advice} owner={owner(advice)} />,
          )}
        </section>
      ))}
      <Silences message={message} />
    </div>
  );
}

/** All of them are ranks of one run, each once. */
const areRanks = (traces: readonly TraceMessage[]) =>
  traces.length > 1 &&
  traces.every(({ rank, run }) => rank >= 0 && run === traces[0]!.run) &&
  new Set(traces.map(({ rank }) => rank)).size === traces.length;

function Advice() {
  const { store, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const detail = useAppState((s) => s.detail);
  const language = useAppState((s) => s.language);
  const versions = useVersions();
  const ready = session.traces.filter(isReady);
  const named = detail["compare.baseline"];
  const isBase = ({ path }: TraceMessage) => named !== undefined && path.startsWith(named.replace(/\/*$/, ""));
  const usual = areRanks(ready) ? -1 : ((ready.find((trace) => !isBase(trace)) ?? ready[0])?.id ?? -1);
  const chosen = (key: string, otherwise: number) =>
    detail[key] === "-1" ? -1 : (ready.find(({ id }) => String(id) === detail[key])?.id ?? otherwise);
  const trace = chosen("advice.of", usual);
  const asked = chosen("advice.base", -1);
  const base = trace < 0 || asked === trace ? -1 : asked;
  const query = useQuery({
    queryKey: ["advisor", trace, base, language, versions],
    queryFn:
      versions === "" || session.loading ? skipToken : ({ signal }) => api.advisor(trace, base, language, signal),
  });
  const choice = (key: "advice.of" | "advice.base", value: number, none: TextKey) => (
    <TraceSelect
      label={t(key)}
      value={value}
      traces={ready}
      none={t(none)}
      choose={(id) => store.set({ detail: { ...store.get().detail, [key]: id } })}
    />
  );
  return (
    <div className="page">
      {ready.length > 1 && (
        <div className="toolbar">
          {choice("advice.of", trace, "advice.all")}
          {trace >= 0 && choice("advice.base", base, "advice.nothing")}
        </div>
      )}
      <Failure of={query} />
      {query.data ? (
        <Result message={query.data} ready={ready} />
      ) : (
        !query.error && <Empty title={t("cluster.busy")} help="" />
      )}
    </div>
  );
}

export const adviceView: View = {
  name: "advice",
  title: "view.advice",
  component: Advice,
  under: "summary",
};
