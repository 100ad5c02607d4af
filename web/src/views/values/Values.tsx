import { useMemo } from "react";

import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Empty } from "../../app/Empty";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { formatCount } from "../../base/format";
import { word } from "../../i18n/words";
import { TABLES, type ValuesTable, countsOf, countsStatement, rowsStatement, toneOf } from "./causes";

/** What the server calls the stores that have these tables. */
const FORMAT = "comparisons of values";

/** The counts of each table that is there: a comparison of one mode has one. */
function useCounts(trace: number) {
  const answers = {
    precision_statistics: useTable({ sql: countsStatement("precision_statistics"), trace }),
    precision_tensor: useTable({ sql: countsStatement("precision_tensor"), trace }),
    precision_md5: useTable({ sql: countsStatement("precision_md5"), trace }),
  };
  const table = TABLES.find((name) => answers[name].data);
  const isDone = TABLES.every((name) => answers[name].data || answers[name].error);
  return { table, isDone, rows: table && answers[table].data!.rows };
}

/** The causes with their counts; one that is pressed is shown alone. */
function Causes({
  rows,
  chosen,
}: {
  rows: readonly (readonly (string | number | boolean | null)[])[];
  chosen: string;
}) {
  const { store, t } = useApp();
  const language = useAppState((s) => s.language);
  const counts = useMemo(() => countsOf(rows), [rows]);
  const choose = (cause: string) => store.set({ detail: { ...store.get().detail, cause } });
  const differing = counts.reduce((sum, { tone, count }) => sum + (tone === "equal" ? 0 : count), 0);
  return (
    <div className="chips" role="group" aria-label={t("values.causes")} data-testid="values-causes">
      <button aria-pressed={chosen === ""} onClick={() => choose("")}>
        {t("values.differing")} <b>{formatCount(differing)}</b>
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

function Rows({ table, trace, chosen }: { table: ValuesTable; trace: number; chosen: string }) {
  const sql = rowsStatement(table, chosen);
  const answer = useTable({ sql, trace, limit: WHOLE });
  const at = answer.data?.columns.findIndex(({ name }) => name === "cause") ?? -1;
  return (
    <DataTable
      name="values"
      testId="values"
      answer={answer}
      trace={trace}
      sql={sql}
      toneOf={(row) => toneOf(row[at] ?? null)}
      onRow={() => undefined}
    />
  );
}

function Values() {
  const { t } = useApp();
  const [trace, select] = useRank(false);
  const chosen = useAppState((s) => s.detail["cause"] ?? "");
  const { table, isDone, rows } = useCounts(trace);
  if (!table || !rows)
    return isDone ? (
      <Empty title={t("values.none")} help={t("values.none.help")} />
    ) : (
      <Empty title={t("cluster.busy")} help="" />
    );
  return (
    <div className="page">
      {select && <div className="toolbar">{select}</div>}
      <Causes rows={rows} chosen={chosen} />
      <Rows table={table} trace={trace} chosen={chosen} />
    </div>
  );
}

export const valuesView: View = {
  name: "values",
  title: "view.values",
  component: Values,
  isUseful: (session) => session?.traces.some(({ format }) => format === FORMAT) ?? false,
};
