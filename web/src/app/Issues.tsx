import { formatCount } from "../base/format";
import { useApp, useAppState } from "./context";
import { Failure } from "./Failure";
import { useTable } from "./useTable";

const ISSUES = "SELECT severity, code, count, source, advice FROM import_issue";

/** What the imports had to say. */
export function Issues() {
  const { t } = useApp();
  const has = useAppState((s) => s.session?.traces.some((trace) => trace.issues > 0) ?? false);
  const issues = useTable(has ? { sql: ISSUES, trace: -1 } : null);
  if (issues.error) return <Failure of={issues} />;
  if (!issues.data || issues.data.rows.length === 0) return null;
  return (
    <div className="issues">
      <h2 className="small">{t("table.issues")}</h2>
      <ul data-testid="issues">
        {issues.data.rows.map(([severity, code, count, source, advice], i) => (
          <li key={i}>
            <span className={severity === "info" ? "muted" : "warn"}>{String(severity)}</span>
            <span>
              {String(advice)}
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
