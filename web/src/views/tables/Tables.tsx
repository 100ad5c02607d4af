import { useQuery } from "@tanstack/react-query";

import { api } from "../../api/client";
import { useApp, useAppState } from "../../app/context";
import { DataTable } from "../../app/DataTable";
import { Failure } from "../../app/Failure";
import { WHOLE } from "../../app/pages";
import { useRank } from "../../app/RankSelect";
import { useTable } from "../../app/useTable";
import type { View } from "../../app/view";
import { word } from "../../i18n/words";
import { forAllRanks, presets } from "./presets";

function Tables() {
  const { store, t } = useApp();
  const language = useAppState((s) => s.language);
  const chosen = useAppState((s) => s.detail["table"] ?? "slices");
  // What analyses declare is shown by their declaration, as a table that statements name.
  const results = useQuery({ queryKey: ["recipes"], queryFn: api.recipes });
  const result = results.data?.find(({ name }) => name === chosen.replace(/^result=/, "")) ?? null;
  const isResult = chosen.startsWith("result=");
  const [rank, select] = useRank(true);
  const preset = isResult ? null : (presets.find((p) => p.name === chosen) ?? presets[0]!);
  const stored = preset?.sql ?? (result ? `SELECT * FROM ${result.name}` : null);
  // A result of all ranks has columns that name them in front.
  const sql = stored !== null && preset && rank < 0 ? forAllRanks(stored) : stored;
  const table = useTable(sql === null ? null : { sql, trace: rank, limit: WHOLE });
  const name = preset?.name ?? chosen;
  const choose = (next: string) => store.set({ detail: { ...store.get().detail, table: next } });
  return (
    <div className="side">
      <nav aria-label={t("view.tables")} className="side-list" style={{ display: "block", height: "auto" }}>
        {select && <div style={{ padding: "2px 4px 8px" }}>{select}</div>}
        {presets.map((p) => (
          <button key={p.name} aria-current={p === preset ? "true" : undefined} onClick={() => choose(p.name)}>
            {t(p.title)}
          </button>
        ))}
        <h2 className="small">{t("tables.results")}</h2>
        <Failure of={results} />
        {results.data?.map(({ name, meaning }) => (
          <button
            key={name}
            title={meaning}
            aria-current={chosen === `result=${name}` ? "true" : undefined}
            onClick={() => choose(`result=${name}`)}
          >
            {word(language, name.replaceAll("_", " "))}
          </button>
        ))}
      </nav>
      <DataTable
        key={name}
        name={name}
        answer={table}
        trace={rank}
        {...(sql === null ? {} : { sql })}
        {...(result ? { about: result.columns } : {})}
        testId="table"
      />
    </div>
  );
}

export const tablesView: View = { name: "tables", title: "view.tables", component: Tables };
