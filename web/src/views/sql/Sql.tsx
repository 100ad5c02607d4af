import { useEffect, useRef, useState } from "react";

import { api } from "../../api/client";
import type { SchemaTableMessage, TableMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { Curves } from "../../app/Curves";
import { DataTable } from "../../app/DataTable";
import { useRank } from "../../app/RankSelect";
import type { View } from "../../app/view";
import { formatCount, formatDuration, formatNumber } from "../../base/format";
import { complete, wordBefore } from "./complete";

const START =
  "SELECT name, count(*) AS count, sum(dur) AS total_ns FROM slice GROUP BY name ORDER BY total_ns DESC LIMIT 100";
const LIMIT = 100_000;

/** The first two columns of numbers as a curve; null where there are not two. */
export function curveOf(table: TableMessage): [number, number][] | null {
  const numbers = table.columns.flatMap((column, i) =>
    column.type === "integer" || column.type === "real" ? [i] : [],
  );
  const [x, y] = numbers;
  if (y === undefined) return x === undefined ? null : table.rows.map((row, i) => [i, Number(row[x] ?? 0)]);
  return table.rows.map((row): [number, number] => [Number(row[x!]), Number(row[y] ?? 0)]).sort((a, b) => a[0] - b[0]);
}

function Sql() {
  const { store, actions, t, theme } = useApp();
  const [rank, select] = useRank(true);
  const text = useAppState((s) => s.detail["sql"] ?? START);
  const [schema, setSchema] = useState<SchemaTableMessage[]>([]);
  const [table, setTable] = useState<TableMessage | null>(null);
  const [asked, setAsked] = useState("");
  const [running, setRunning] = useState("");
  const [history, setHistory] = useState<string[]>([]);
  const [chart, setChart] = useState(false);
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
      setTable(await api.sql(text, rank, LIMIT, id));
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
  const curve = chart && table ? curveOf(table) : null;
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
            <button aria-pressed={chart} onClick={() => setChart(!chart)}>
              {t("sql.chart")}
            </button>
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
                  ? t("sql.elapsed", formatCount(table.rows.length), formatDuration(table.elapsed))
                  : t("sql.hint")}
            </span>
          </div>
        </div>
        {curve && (
          <div className="chart">
            <Curves
              curves={[{ name: "y", color: theme.accent, points: curve }]}
              formatX={formatNumber}
              formatY={formatNumber}
              testId="sql-chart"
            />
          </div>
        )}
        {table && (
          <DataTable name="sql" table={table} trace={rank} csv={api.csvAddress(asked, rank)} testId="sql-result" />
        )}
      </div>
    </div>
  );
}

export const sqlView: View = { name: "sql", title: "view.sql", component: Sql };
