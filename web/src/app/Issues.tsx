import { skipToken, useQuery } from "@tanstack/react-query";

import { api } from "../api/client";
import { formatCount } from "../base/format";
import { word } from "../i18n/words";
import { useApp, useAppState } from "./context";
import { Failure } from "./Failure";
import { useTable } from "./useTable";

const ISSUES = "SELECT severity, code, count, source, advice FROM import_issue";

/** The issues of the imports. */
export function Issues() {
  const { t } = useApp();
  const has = useAppState((s) => s.session?.traces.some((trace) => trace.issues > 0) ?? false);
  const language = useAppState((s) => s.language);
  const issues = useTable(has ? { sql: ISSUES, trace: -1 } : null);
  // The tables have it in English; what is of the data itself stays as it is.
  const advices = useQuery({
    queryKey: ["advice", language],
    queryFn: has && language !== "en" ? ({ signal }) => api.advice(language, signal) : skipToken,
  });
  if (issues.error) return <Failure of={issues} />;
  const texts = new Map(advices.data?.map(({ advice, text }) => [advice, text]));
  if (!issues.data || issues.data.rows.length === 0) return null;
  return (
    <div className="issues">
      <h2 className="small">{t("table.issues")}</h2>
      <ul data-testid="issues">
        {issues.data.rows.map(([severity, code, count, source, advice], i) => (
          <li key={i}>
            <span className={severity === "info" ? "muted" : "warn"}>{word(language, String(severity))}</span>
            <span>
              {texts.get(String(advice)) ?? String(advice)}
              <small>
                {String(code)} · {formatCount(Number(count))} × · {String(source)}
              </small>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
