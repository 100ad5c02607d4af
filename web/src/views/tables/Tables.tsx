import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { forAllRanks, presets } from "./presets";

function Tables() {
  const { store, t } = useApp();
  const chosen = useAppState((s) => s.detail["table"] ?? "slices");
  const [rank, select] = useRank(true);
  const preset = presets.find((p) => p.name === chosen) ?? presets[0]!;
  const sql = rank < 0 ? forAllRanks(preset.sql) : preset.sql;
  const table = useTable({ sql, trace: rank, limit: WHOLE });
  return (
    <div className="side">
      <nav aria-label={t("view.tables")} className="side-list" style={{ display: "block", height: "auto" }}>
        {select && <div style={{ padding: "2px 4px 8px" }}>{select}</div>}
        {presets.map((p) => (
          <button
            key={p.name}
            aria-current={p === preset ? "true" : undefined}
            onClick={() => store.set({ detail: { ...store.get().detail, table: p.name } })}
          >
            {t(p.title)}
          </button>
        ))}
      </nav>
      <DataTable key={preset.name} name={preset.name} answer={table} trace={rank} sql={sql} testId="table" />
    </div>
  );
}

export const tablesView: View = { name: "tables", title: "view.tables", component: Tables };
