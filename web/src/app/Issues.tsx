import { useEffect, useState } from "react";

import { api } from "../api/client";
import type { TableMessage } from "../api/messages";
import { formatCount } from "../base/format";
import { useApp, useAppState } from "./context";

/** What the imports had to say. */
export function Issues() {
  const { actions, t } = useApp();
  const session = useAppState((s) => s.session);
  const [issues, setIssues] = useState<TableMessage | null>(null);
  useEffect(() => {
    if (session?.traces.some((trace) => trace.issues > 0)) {
      api.sql("SELECT severity, code, count, source, advice FROM import_issue").then(setIssues, actions.fail);
    }
  }, [session, actions]);
  if (!issues || issues.rows.length === 0) return null;
  return (
    <div className="issues">
      <h3>{t("table.issues")}</h3>
      <ul data-testid="issues">
        {issues.rows.map(([severity, code, count, source, advice], i) => (
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
