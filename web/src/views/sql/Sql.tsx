import { useEffect, useRef, useState } from "react";

import { api } from "../../api/client";
import type { SchemaTableMessage, TableMessage } from "../../api/messages";
import { Bars } from "../../app/Bars";
import { useApp, useAppState } from "../../app/context";
import { Curves } from "../../app/Curves";
import { DataTable } from "../../app/DataTable";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import type { View } from "../../app/view";
import { colorIndex } from "../../base/color";
import { formatCount, formatDuration, formatNumber } from "../../base/format";
import { type ChartKind, chartOf } from "./chart";
import { complete, wordBefore } from "./complete";

const START =
  "SELECT name, count(*) AS count, sum(dur) AS total_ns FROM slice GROUP BY name ORDER BY total_ns DESC LIMIT 100";

function Sql() {
  const { store, actions, t, theme } = useApp();
  const [rank, select] = useRank(true);
  const text = useAppState((s) => s.detail["sql"] ?? START);
  const [schema, setSchema] = useState<SchemaTableMessage[]>([]);
  const [table, setTable] = useState<TableMessage | null>(null);
  const [asked, setAsked] = useState("");
  const [running, setRunning] = useState("");
  const [history, setHistory] = useState<string[]>([]);
  const chart = useAppState((s) => s.detail["chart"] ?? "") as ChartKind | "";
  const [words, setWords] = useState<string[]>([]);
  const box = useRef<HTMLTextAreaElement>(null);
  const setText = (value: string) => store.set({ detail: { ...store.get().detail, sql: value } });

  useEffect(() => {
    api.schema().then(setSchema, actions.fail);
  }, [actions]);

  const run = async () => {
    const id = `q${Math.random().toString(36).slice(2)}`;
    setRunning(id);
    setWords([]);
    store.set({ error: "" });
    try {
      setTable(await api.sql(text, rank, WHOLE, id));
      setAsked(text);
      setHistory((old) => [text, ...old.filter((s) => s !== text)].slice(0, 30));
    } catch (error) {
      actions.fail(error);
    } finally {
      setRunning("");
    }
  };
  const take = (word: string) => {
    const caret = box.current!.selectionStart;
    const start = caret - wordBefore(text, caret).length;
    setText(text.slice(0, start) + word + text.slice(caret));
    setWords([]);
    box.current!.focus();
  };
  const drawn = chart !== "" && table ? chartOf(table, chart) : null;
  return (
    <div className="side">
      <div className="side-list">
        <h3>{t("sql.tables")}</h3>
        {schema.map((info) => (
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
              setWords(complete(event.target.value, event.target.selectionStart, schema));
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
              else if (event.key === "Tab" && words[0]) take(words[0]);
              else if (event.key === "Escape") setWords([]);
              else return;
              event.preventDefault();
            }}
          />
          {words.length > 0 && (
            <ul className="completion">
              {words.map((word) => (
                <li key={word} onPointerDown={() => take(word)}>
                  {word}
                </li>
              ))}
            </ul>
          )}
          <div className="toolbar" style={{ padding: 0, border: 0 }}>
            <button onClick={() => void run()} disabled={running !== ""}>
              {t("sql.run")}
            </button>
            <button onClick={() => void api.cancel(running).catch(actions.fail)} disabled={running === ""}>
              {t("sql.cancel")}
            </button>
            <select
              value={chart}
              aria-label={t("sql.chart")}
              onChange={(event) => store.set({ detail: { ...store.get().detail, chart: event.target.value } })}
            >
              <option value="">{t("sql.nochart")}</option>
              <option value="line">{t("sql.line")}</option>
              <option value="dots">{t("sql.dots")}</option>
              <option value="bars">{t("sql.bars")}</option>
            </select>
            {select}
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
              {running !== ""
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
        {drawn && "labels" in drawn && (
          <div className="chart" style={{ overflow: "auto" }} data-testid="sql-chart">
            <Bars
              rows={drawn.labels.map(([label, value]) => ({
                label,
                parts: [{ color: theme.bars[colorIndex(label, theme.bars.length)]!, value: Math.max(0, value) }],
                text: formatNumber(value),
              }))}
              whole={Math.max(...drawn.labels.map(([, value]) => value))}
            />
          </div>
        )}
        {drawn && "series" in drawn && (
          <div className="chart">
            <Curves
              curves={drawn.series.map((line, i) => ({
                ...line,
                color: [theme.accent, theme.error, theme.warning, theme.computing, theme.muted][i % 5]!,
              }))}
              dots={chart === "dots"}
              bars={chart === "bars"}
              formatX={formatNumber}
              formatY={formatNumber}
              testId="sql-chart"
            />
          </div>
        )}
        {table && <DataTable name="sql" plain table={table} trace={rank} sql={asked} testId="sql-result" />}
      </div>
    </div>
  );
}

export const sqlView: View = { name: "sql", title: "view.sql", component: Sql };
