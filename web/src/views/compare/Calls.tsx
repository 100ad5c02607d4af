import { columnOf } from "../../app/columns";
import { useApp } from "../../app/context";
import { Grid, type GridColumn } from "../../app/Grid";
import type { Table, Word } from "./words";

/** Calls of the host that are no operators: launches, copies, waits, collections of garbage. */
export function Calls({ table, word, onName }: { table: Table; word: Word; onName: (name: string) => void }) {
  const { t } = useApp();
  const sides = (["compare.new", "compare.base"] as const).map((side) => t(side));
  const columns: GridColumn[] = [
    { name: t("compare.calls"), kind: "text", width: 320 },
    ...sides.map((side): GridColumn => ({ name: side, kind: "duration" })),
    { name: t("compare.diff"), kind: "duration", title: t("compare.diff.help") },
    ...sides.map((side): GridColumn => ({ name: t("compare.count", side), kind: "real", width: 150 })),
    { name: t("compare.verdict"), kind: "text", width: 130 },
  ];
  const rows = table.rows.map((row) => {
    const cell = (name: string) => row[columnOf(table, name)] ?? null;
    return [
      ...["name", "comparison_ns", "base_ns", "diff_ns", "comparison_calls", "base_calls"].map(cell),
      word(cell("verdict")),
    ];
  });
  return (
    <Grid
      label={t("compare.calls")}
      testId="compare-calls"
      columns={columns}
      rows={rows}
      onRow={([name]) => onName(String(name))}
    />
  );
}
