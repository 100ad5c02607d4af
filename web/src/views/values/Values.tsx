import { useMemo } from "react";

import type { Cell, TableMessage } from "../../api/messages";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { Failure } from "../../app/Failure";
import { PAGE, WHOLE } from "../../app/pages";
import { TraceSelect } from "../../app/RankSelect";
import type { Store } from "../../app/state";
import { isReady } from "../../app/traces";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatCount } from "../../base/format";
import { word } from "../../i18n/words";
import { type CauseCount, DIGITS, FIRST, type RowKey, countOf, countsOf, countsStatement, findingsStatement, rowsStatement, tableOf, toneOf } from "./causes"; // prettier-ignore
import { RowPanel } from "./RowPanel";

/** The rows of an answer by the names of its columns. */
function namedRows(table: TableMessage | undefined): Readonly<Record<string, Cell>>[] {
  return table?.rows.map((row) => Object.fromEntries(table.columns.map(({ name }, i) => [name, row[i] ?? null]))) ?? [];
}

/** In the address; "" leaves it out. */
function keep(store: Store, name: string, value: string) {
  const detail = { ...store.get().detail };
  if (value === "") delete detail[name];
  else detail[name] = value;
  store.set({ detail });
}

/** The causes with their counts; one that is pressed is shown alone. */
function Causes({ counts, chosen }: { counts: readonly CauseCount[]; chosen: string }) {
  const { store, t } = useApp();
  const language = useAppState((s) => s.language);
  const choose = (cause: string) => keep(store, "cause", cause);
  return (
    <div className="chips" role="group" aria-label={t("values.causes")} data-testid="values-causes">
      <button aria-pressed={chosen === ""} onClick={() => choose("")}>
        {t("values.differing")} <b>{formatCount(countOf(counts, ""))}</b>
      </button>
      {counts.map(({ cause, tone, count }) => (
        <button
          key={cause}
          className={`tone ${tone}`}
          aria-pressed={chosen === cause}
          onClick={() => choose(chosen === cause ? "" : cause)}
        >
          {word(language, cause)} <b>{formatCount(count)}</b>
        </button>
      ))}
    </div>
  );
}

/** What is known of a comparison, and its rows. */
function Comparison({ trace, tables }: { trace: number; tables: readonly string[] }) {
  const { store, t } = useApp();
  const table = tableOf(tables)!;
  const chosen = useAppState((s) => s.detail["cause"] ?? "");
  const picked = useAppState((s) => s.detail["values.row"] ?? "");
  const counted = useTable({ sql: countsStatement(table), trace });
  const counts = useMemo(() => (counted.data ? countsOf(counted.data.rows) : null), [counted.data]);
  const found = useTable({ sql: findingsStatement, trace });
  const findings = useMemo(() => namedRows(found.data), [found.data]);
  const sql = rowsStatement(table, chosen);
  // Of a long table the pages come as they are seen.
  const limit = counts && countOf(counts, chosen) > WHOLE ? PAGE : WHOLE;
  const answer = useTable(counts && { sql, trace, limit });
  const place = (name: string) => answer.data?.columns.findIndex((column) => column.name === name) ?? -1;
  const pick = (key: string) => keep(store, "values.row", key);
  const toneAt = [place(FIRST), place("cause")] as const;
  const keyAt = [place("step"), place("rank"), place("row")] as const;
  const selected = answer.data?.rows.findIndex((row) => keyAt.map((at) => row[at]).join() === picked) ?? -1;
  const sentence = String(findings[0]?.["sentence"] ?? "");
  return (
    <>
      {sentence !== "" && (
        <p className="sentence" data-testid="values-sentence">
          <b>{t("values.first")}</b> {sentence}
        </p>
      )}
      <Failure of={counted} />
      <Failure of={found} />
      {counts && <Causes counts={counts} chosen={chosen} />}
      <div className="side">
        <DataTable
          name="values"
          testId="values"
          answer={answer}
          trace={trace}
          sql={sql}
          digits={DIGITS}
          selected={selected}
          toneOf={(row) => `${toneOf(row[toneAt[1]] ?? null)}${row[toneAt[0]] ? " begin" : ""}`}
          onRow={(row) => pick(keyAt.map((at) => row[at]).join())}
        />
        {picked !== "" && (
          <RowPanel
            table={table}
            trace={trace}
            place={picked.split(",") as unknown as RowKey}
            findings={findings}
            onPlace={pick}
          />
        )}
      </div>
    </>
  );
}

function Values() {
  const { store, t } = useApp();
  const session = useAppState((s) => s.session)!;
  const wanted = useAppState((s) => Number(s.detail["values.of"] ?? -1));
  const traces = session.traces.filter((trace) => isReady(trace) && tableOf(trace.tables));
  const shown = traces.find(({ id }) => id === wanted) ?? traces[0];
  if (!shown) {
    return session.loading ? (
      <Empty title={t("cluster.busy")} help="" />
    ) : (
      <Empty title={t("values.none")} help={t("values.none.help")} />
    );
  }
  return (
    <div className="page">
      {traces.length > 1 && (
        <div className="toolbar">
          <TraceSelect
            label={t("values.comparison")}
            value={shown.id}
            traces={traces}
            choose={(id) => {
              keep(store, "values.row", "");
              keep(store, "values.of", id);
            }}
          />
        </div>
      )}
      <Comparison key={shown.id} trace={shown.id} tables={shown.tables} />
    </div>
  );
}

export const valuesView: View = {
  name: "values",
  title: "view.values",
  component: Values,
  needsNoTrace: true,
  isUseful: (session) => session?.traces.some(({ tables }) => tableOf(tables)) ?? false,
};
