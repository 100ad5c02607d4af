import { type KeyboardEvent, useEffect, useRef, useState } from "react";

import { WHOLE_LAKE, api } from "../../api/client";
import type { TableMessage } from "../../api/messages";
import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { kindOf } from "../../app/cells";
import { Chart } from "../../app/Chart";
import { DataTable } from "../../app/DataTable";
import { Failure } from "../../app/Failure";
import { equals } from "../../app/filter";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useSchema } from "../../app/useTable";
import type { View } from "../../app/view";
import { colorIndex } from "../../base/color";
import { formatBytes, formatCount, formatDuration, formatNumber } from "../../base/format";
import { type ChartKind, chartOf, partOf } from "./chart";
import { complete, wordBefore } from "./complete";
import { examples } from "./examples";

/** As the table below writes the column; moments are drawn after the first of them. */
function formatOf(column: string): (value: number) => string {
  const kind = kindOf({ name: column, type: "integer" });
  if (kind === "duration" || kind === "moment") return formatDuration;
  return kind === "bytes" ? formatBytes : formatNumber;
}

function Sql() {
  const { store, actions, t, theme } = useApp();
  const [chosen, select] = useRank(true);
  const hasLake = useAppState((s) => s.session!.maps.some(({ lake }) => lake !== ""));
  const isLake = useAppState((s) => hasLake && s.detail["lake"] !== "0");
  const rank = isLake ? WHOLE_LAKE : chosen;
  const text = useAppState((s) => s.detail["sql"] ?? examples[0]!);
  const schema = useSchema();
  const [table, setTable] = useState<TableMessage | null>(null);
  const [asked, setAsked] = useState("");
  const [running, setRunning] = useState<AbortController | null>(null);
  const [history, setHistory] = useState<string[]>([]);
  const chart = useAppState((s) => s.detail["chart"] ?? "") as ChartKind | "";
  const [words, setWords] = useState<string[]>([]);
  const [word, setWord] = useState(0);
  const box = useRef<HTMLTextAreaElement>(null);
  const put = (part: Record<string, string>) => store.set({ detail: { ...store.get().detail, ...part } });
  const setText = (value: string) => put({ sql: value, ran: "" });

  const run = async (text: string) => {
    const control = new AbortController();
    setRunning(control);
    setWords([]);
    store.set({ error: "" });
    put({ sql: text, ran: "1" });
    try {
      setTable(await api.sql(text, rank, WHOLE, control.signal));
      setAsked(text);
      setHistory((old) => [text, ...old.filter((s) => s !== text)].slice(0, 30));
    } catch (error) {
      actions.fail(error);
    } finally {
      setRunning(null);
    }
  };
  // A link shows the result too, and so does who comes back to this view.
  useEffect(() => {
    if (store.get().detail["ran"] === "1") void run(store.get().detail["sql"] ?? "");
  }, []); // eslint-disable-line react-hooks/exhaustive-deps

  const suggest = (found: string[]) => {
    setWords(found);
    setWord(0);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run(text);
    else if (words.length === 0) return;
    else if (step) setWord((now) => (now + step + words.length) % words.length);
    else if (event.key === "Tab") take(words[word]!);
    else if (event.key === "Escape") setWords([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const take = (word: string) => {
    const caret = box.current!.selectionStart;
    const start = caret - wordBefore(text, caret).length;
    setText(text.slice(0, start) + word + text.slice(caret));
    setWords([]);
    box.current!.focus();
  };
  const value = useAppState((s) => s.detail["chartvalue"] ?? "");
  const drawn = chart !== "" && table ? chartOf(table, chart, value) : null;
  return (
    <div className="side">
      <div className="side-list">
        <h2 className="small">{t("sql.tables")}</h2>
        <Failure of={schema} />
        {schema.data?.map((info) => (
          <details key={info.name}>
            <summary title={info.meaning}>{info.name}</summary>
            <ul>
              {info.columns.map((column) => (
                <li key={column.name} title={column.type}>
                  {column.name}
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
      <div className="half">
        <div className="sql-box">
          <textarea
            ref={box}
            value={text}
            spellCheck={false}
            aria-label="SQL"
            placeholder={t("sql.hint")}
            onChange={(event) => {
              setText(event.target.value);
              suggest(complete(event.target.value, event.target.selectionStart, schema.data ?? []));
            }}
            onKeyDown={onKey}
            onBlur={() => setWords([])}
          />
          {words.length > 0 && (
            <ul className="completion" role="listbox" aria-label={t("sql.tables")} data-testid="completion">
              {words.map((name, i) => (
                <li
                  key={name}
                  role="option"
                  aria-selected={i === word}
                  onPointerDown={(event) => {
                    event.preventDefault();
                    take(name);
                  }}
                >
                  {name}
                </li>
              ))}
            </ul>
          )}
          <div className="toolbar" style={{ padding: 0, border: 0 }}>
            <button onClick={() => void run(text)} disabled={running !== null}>
              {t("sql.run")}
            </button>
            <button onClick={() => running?.abort()} disabled={running === null}>
              {t("sql.cancel")}
            </button>
            <select value={chart} aria-label={t("sql.chart")} onChange={(event) => put({ chart: event.target.value })}>
              <option value="">{t("sql.nochart")}</option>
              <option value="line">{t("sql.line")}</option>
              <option value="dots">{t("sql.dots")}</option>
              <option value="bars">{t("sql.bars")}</option>
            </select>
            {drawn && "values" in drawn && drawn.values.length > 1 && (
              <select
                value={drawn.value}
                aria-label={t("sql.value")}
                onChange={(event) => put({ chartvalue: event.target.value })}
              >
                {drawn.values.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
            {hasLake && (
              <button aria-pressed={isLake} onClick={() => put({ lake: isLake ? "0" : "" })}>
                {t("sql.lake")}
              </button>
            )}
            {!isLake && select}
            {history.length > 0 && (
              <select
                value=""
                aria-label={t("sql.history")}
                onChange={(event) => setText(event.target.value)}
                style={{ maxWidth: 260 }}
              >
                <option value="">{t("sql.history")}</option>
                {history.map((statement) => (
                  <option key={statement}>{statement}</option>
                ))}
              </select>
            )}
            <span className="muted" data-testid="sql-elapsed">
              {running !== null
                ? t("sql.running")
                : table
                  ? t(
                      "sql.elapsed",
                      `${formatCount(table.rows.length)}${table.complete ? "" : "+"}`,
                      formatDuration(table.elapsed),
                    )
                  : t("sql.hint")}
            </span>
          </div>
        </div>
        {chart !== "" && table && !drawn && <div className="caption">{t("sql.nonumbers")}</div>}
        {table && drawn && (
          <div className="caption legend">
            {"series" in drawn &&
              drawn.series.map((line, i) => (
                <span key={line.name}>
                  <i style={{ background: theme.lines[i % theme.lines.length] }} />
                  {line.name}
                </span>
              ))}
            {partOf(table, drawn) > 0 && <span>{t("sql.part", formatCount(partOf(table, drawn)))}</span>}
          </div>
        )}
        {drawn && "labels" in drawn && (
          <div className="chart" style={{ overflow: "auto" }} data-testid="sql-chart">
            <Bars
              rows={drawn.labels.map(([label, value]) => ({
                label,
                parts: [{ color: theme.bars[colorIndex(label, theme.bars.length)]!, value: Math.max(0, value) }],
                text: formatOf(drawn.value)(value),
              }))}
              whole={Math.max(...drawn.labels.map(([, value]) => value))}
              onRow={({ label }) => put({ "f.sql": equals(drawn.label, label) })}
            />
          </div>
        )}
        {drawn && "series" in drawn && (
          <div className="chart">
            <Chart
              label={t("sql.chart")}
              curves={drawn.series.map((line, i) => ({
                ...line,
                color: theme.lines[i % theme.lines.length]!,
              }))}
              shape={chart === "line" || chart === "" ? "lines" : chart}
              formatX={formatOf(drawn.x)}
              formatY={formatOf(drawn.series[0]!.name)}
              testId="sql-chart"
            />
          </div>
        )}
        {!table && running === null && (
          <div className="examples" data-testid="sql-examples">
            <h2 className="small">{t("sql.examples")}</h2>
            {examples.map((statement) => (
              <button key={statement} onClick={() => void run(statement)}>
                {statement}
              </button>
            ))}
          </div>
        )}
        {table && (
          <DataTable
            key={asked}
            name="sql"
            plain
            answer={{ data: table, error: null }}
            trace={rank}
            sql={asked}
            testId="sql-result"
          />
        )}
      </div>
    </div>
  );
}

export const sqlView: View = { name: "sql", title: "view.sql", component: Sql, showsMaps: true, needsNoTrace: true };
